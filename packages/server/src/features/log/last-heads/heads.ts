import { type Bytes, utf8 } from '@pubring/client/internal/log/encoding'
import { emptySubtree } from '@pubring/client/internal/log/heads-map'
import { formatEntry, type HeadsEntry, parseEntry } from '@pubring/client/internal/log/leaf'
import { inclusionProof } from '@pubring/client/internal/log/proofs'
import { leafHash, type TreeHead, verifyInclusion } from '@pubring/client/internal/log/tree'
import type { LogSigner } from '../../../kernel/context.ts'
import type { Db } from '../../../kernel/storage/schema.ts'
import { logError } from '../faults.ts'
import { readEntries, readLastEntries } from '../reads.ts'
import { createNodeReader, sha256 } from '../tiles.ts'
import { leafOfEntry, type MapUpdate, storedMap, updateMap } from './map.ts'

/** The last of the first `size` entries, if it has the root of a map of last heads. */
export async function findHeads(db: Db, size: number): Promise<HeadsEntry | undefined> {
  const [content = ''] = await readEntries(db, { start: size - 1, end: size })
  try {
    const entry = parseEntry(utf8(content))
    return 'heads' in entry ? entry : undefined
  } catch {
    // The entry was altered.
    return undefined
  }
}

/**
 * The map of last heads with the entries since the published checkpoint. `tree` is the state of the log, which
 * extends what was signed. Throws `log_stopped` if the stored map is not that of the published checkpoint.
 */
export async function readMapUpdate(
  db: Db,
  { blindingOf }: Pick<LogSigner, 'blindingOf'>,
  published: number,
  tree: TreeHead,
): Promise<MapUpdate> {
  const root = published === 0 ? emptySubtree : await readRoot(db, published, tree)
  const entries = await readLastEntries(db, { start: published, end: tree.size })
  const leaves = await Promise.all(
    entries.map((entry) => leafOfEntry(entry, blindingOf(entry.ledgerId))),
  )
  return updateMap(storedMap(db), root, leaves)
}

/** The root in the last of the first `size` entries of the tree. */
async function readRoot(db: Db, size: number, tree: TreeHead): Promise<Bytes> {
  const published = await findHeads(db, size)
  if (published === undefined) throw logError('damaged')
  const index = size - 1
  const read = createNodeReader(db, tree.size)
  const hashes = await inclusionProof(index, tree.size, read, sha256)
  const leaf = await leafHash(formatEntry(published), sha256)
  if (!(await verifyInclusion(leaf, { index, hashes }, tree))) throw logError('damaged')
  return Uint8Array.from(Buffer.from(published.heads, 'hex'))
}
