import { type Bytes, sha256 } from './encoding.ts'
import { LogError } from './errors.ts'
import { blindedLedgerId, entryKey, parseEntry } from './leaf.ts'
import type { LoggedHeads } from './ledger.ts'
import type { LedgerProof } from './ledger-proof.ts'
import { formatTilePath, parseEntries, tileWidth, tileWidthIn } from './tiles.ts'
import { emptyRoot, equalBytes, leafHash, nodeHash, type Sha256, type TreeHead } from './tree.ts'

/** The log to scan. */
type Scan = {
  /** The state of the log: a verified checkpoint. */
  checkpoint: TreeHead
  /** Earlier states, which it must extend. */
  since?: readonly TreeHead[]
  /** The bytes at a path below the log's prefix, such as `tile/entries/000`. */
  read(path: string): Promise<Uint8Array>
  hash?: Sha256
}

/**
 * Reads all entries of the log, compares them with the checkpoint, and returns the heads of the
 * proof's ledger. Throws `disproved` if these contradict each other, or the entries a checkpoint.
 */
export async function scanLog(
  proof: Pick<LedgerProof, 'head' | 'opening'>,
  { checkpoint, since = [], read, hash = sha256 }: Scan,
): Promise<LoggedHeads> {
  const heads = createHeads()
  const isOfLedger = ledgerFilter(proof, hash)
  const tree = createRootBuilder(hash)
  const later = since.find(({ size }) => size > checkpoint.size)
  if (later !== undefined) {
    throw disproved(`it has ${checkpoint.size} entries, and an earlier checkpoint ${later.size}`)
  }
  async function compare(): Promise<void> {
    for (const { size, root } of [checkpoint, ...since]) {
      if (size !== tree.size() || equalBytes(root, await tree.root())) continue
      throw disproved(`its first ${size} entries are not those of the checkpoint of this size`)
    }
  }
  for await (const bytes of readEntries(checkpoint.size, read)) {
    await compare()
    await tree.append(await leafHash(bytes, hash))
    const entry = parseEntry(bytes)
    if ('ledger' in entry && (await isOfLedger(entry))) heads.add(entry)
  }
  await compare()
  return heads.found
}

/** The heads of a ledger, in the order of the log. */
function createHeads() {
  const found = new Map<number, string>()
  let last = 0
  return {
    found,
    add({ revision, head }: { revision: number; head: string }): void {
      const before = found.get(revision) ?? head
      if (before !== head) {
        throw disproved(`event ${revision} of the ledger has two hashes, ${before} and ${head}`)
      }
      if (revision < last) throw disproved(`event ${revision} of the ledger follows event ${last}`)
      last = revision
      found.set(revision, head)
    },
  }
}

/** Whether an entry is of the proof's ledger. */
function ledgerFilter({ head, opening }: Pick<LedgerProof, 'head' | 'opening'>, hash: Sha256) {
  if (!('blinding' in opening)) throw new LogError('malformed', 'The proof has no blinding value.')
  const { blinding } = opening
  return async (entry: { ledger: string; revision: number }): Promise<boolean> => {
    const key = await entryKey(blinding, entry.revision, hash)
    return (await blindedLedgerId(key, head.ledgerId, hash)) === entry.ledger
  }
}

async function* readEntries(size: number, read: Scan['read']): AsyncGenerator<Bytes> {
  for (let index = 0; index * tileWidth < size; index += 1) {
    const bundle = { level: 'entries', index } as const
    const path = formatTilePath({ ...bundle, width: tileWidthIn(size, bundle) })
    const entries = parseEntries(await read(path))
    if (entries.length !== tileWidthIn(size, bundle)) {
      throw new LogError('malformed', `The log's ${path} is incomplete.`)
    }
    yield* entries
  }
}

/** The root of a tree that grows; keeps the roots of its complete subtrees, one of a size. */
function createRootBuilder(hash: Sha256) {
  const complete: (Bytes | undefined)[] = []
  let size = 0
  return {
    size: () => size,
    async append(leaf: Bytes): Promise<void> {
      let node = leaf
      let level = 0
      for (let left = complete[0]; left !== undefined; left = complete[level]) {
        node = await nodeHash(left, node, hash)
        complete[level] = undefined
        level += 1
      }
      complete[level] = node
      size += 1
    },
    async root(): Promise<Bytes> {
      let root: Bytes | undefined
      for (const node of complete) {
        if (node === undefined) continue
        root = root === undefined ? node : await nodeHash(node, root, hash)
      }
      return root ?? emptyRoot
    },
  }
}

function disproved(reason: string): LogError {
  return new LogError('disproved', `The log contradicts itself: ${reason}.`)
}
