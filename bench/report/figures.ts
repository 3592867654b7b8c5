import type { Spread } from './spread.ts'

/** The bound that a figure is to keep. */
export interface Target {
  most?: number
  least?: number
}

/** An operation that is asked again and again, beside the floor of the same answer. */
export interface ReadFigure {
  operation: string
  server: string
  /** CPU of the server per request, in microseconds; of the floor likewise. */
  micros: Spread
  floorMicros: Spread
  /** `micros` over `floorMicros`, both of the same round. */
  ratio: Spread
  target?: Target
  /** Requests per second with all connections busy. */
  rate: Spread
  /** Milliseconds at half of that rate. */
  p50: number
  p99: number
}

/** Anything else that is measured. */
export interface Figure {
  name: string
  server: string
  unit: string
  value: Spread
  target?: Target
  /** What the figure is made of. */
  note: string
}

/** Undefined where there is no target. */
export function isMet({ most, least }: Target = {}, value: number): boolean | undefined {
  if (most !== undefined) return value <= most
  if (least !== undefined) return value >= least
  return undefined
}
