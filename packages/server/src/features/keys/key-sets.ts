import { cachedByHead } from '../../kernel/storage/cached.ts'
import { readKeySetInPages } from './reads.ts'
import { keySetBytes } from './stored.ts'

/** The project's keys from memory, while the head of its ledger is unchanged. */
export const keySetOf = cachedByHead({
  read: readKeySetInPages,
  bytes: keySetBytes,
  maxBytes: 32 * 1024 * 1024,
})
