import type { Spread } from './spread.ts'

/** The bound that a figure must keep. */
export interface Target {
  max?: number
  min?: number
}

/** A repeated read, compared with the baseline that serves the same response. */
export interface ReadFigure {
  operation: string
  server: string
  /** CPU per request of the server and of the baseline, in microseconds. */
  micros: Spread
  baselineMicros: Spread
  /** `micros` over `baselineMicros`, both of the same round. */
  ratio: Spread
  target?: Target
  /** Requests per second with all connections busy. */
  rate: Spread
  /** Milliseconds at half of that rate. */
  p50: number
  p99: number
}

/** Any other measurement. */
export interface Figure {
  name: string
  server: string
  unit: string
  value: Spread
  target?: Target
  /** The meaning of the figure. */
  note: string
}

/** Undefined where there is no target. */
export function isMet({ max, min }: Target = {}, value: number): boolean | undefined {
  if (max !== undefined) return value <= max
  if (min !== undefined) return value >= min
  return undefined
}
