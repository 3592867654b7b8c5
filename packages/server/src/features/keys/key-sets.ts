import { cachedByHead } from '../../kernel/storage/cached.ts'
import { readKeySetInPages } from './reads.ts'
import { type KeySet, keySetBytes } from './stored.ts'

/**
 * The memory of a key set and of the bodies made of it: the list, the list of active keys, and each key,
 * all with PEM.
 */
export function cachedBytes(keySet: KeySet): number {
  return 3 * keySetBytes(keySet)
}

/** The project's keys from memory, while the head of its ledger is unchanged. */
export const keySetOf = cachedByHead({
  read: readKeySetInPages,
  bytes: cachedBytes,
  maxBytes: 32 * 1024 * 1024,
})
