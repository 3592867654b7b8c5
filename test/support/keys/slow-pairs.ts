import type { KeyObject } from 'node:crypto'

export interface KeyPair {
  privateKey: KeyObject
  publicKey: KeyObject
}

const pools = new Map<string, KeyPair[]>()
const drawn = new Map<string, number>()

/**
 * A key pair of a kind that is slow to generate. Within a test file all pairs differ; the files of a
 * worker draw the same ones.
 */
export function drawPair(kind: string, generate: () => KeyPair): KeyPair {
  const pool = pools.get(kind) ?? []
  const index = drawn.get(kind) ?? 0
  const pair = pool[index] ?? generate()
  pool[index] = pair
  pools.set(kind, pool)
  drawn.set(kind, index + 1)
  return pair
}

/** Lets the next test file draw the pairs of the last one. */
export function reusePairs(): void {
  drawn.clear()
}
