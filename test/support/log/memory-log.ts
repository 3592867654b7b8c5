import { randomBytes } from 'node:crypto'
import { formatCheckpoint } from '../../../packages/client/src/log/checkpoint.ts'
import type { Bytes } from '../../../packages/client/src/log/encoding.ts'
import { blindedLedgerId, entryKey, formatEntry } from '../../../packages/client/src/log/leaf.ts'
import {
  formatLedgerProof,
  type LoggedHead,
} from '../../../packages/client/src/log/ledger-proof.ts'
import {
  consistencyProof,
  inclusionProof,
  type ReadNode,
  treeRoot,
} from '../../../packages/client/src/log/proofs.ts'
import { parseTilePath, tileWidth } from '../../../packages/client/src/log/tiles.ts'
import { leafHash, nodeHash } from '../../../packages/client/src/log/tree.ts'
import { createSigner, signedNote, type TestSigner } from './signers.ts'

/** A log in memory, without any check: it can be made to contradict itself. */
export async function createMemoryLog(origin = 'log.example/log', stolen?: TestSigner) {
  const signer = stolen ?? (await createSigner(origin))
  const blinding = new Uint8Array(randomBytes(32))
  const entries: Bytes[] = []

  const node: ReadNode = async (level, index) =>
    level === 0
      ? leafHash(entries[index] ?? new Uint8Array())
      : nodeHash(await node(level - 1, index * 2), await node(level - 1, index * 2 + 1))

  async function checkpoint(size = entries.length, ...witnesses: TestSigner[]): Promise<string> {
    const text = formatCheckpoint({ origin, size, root: await treeRoot(size, node) })
    return signedNote(text, signer, ...witnesses)
  }
  return {
    key: signer.key,
    signer,
    blinding,
    entries,
    /** The index of the new entry. */
    async append(head: LoggedHead): Promise<number> {
      const { ledgerId, ...rest } = head
      const ledger = await blindedLedgerId(await entryKey(blinding, head.revision), ledgerId)
      return entries.push(formatEntry({ ...rest, ledger })) - 1
    },
    checkpoint,
    async proof(index: number, head: LoggedHead, note?: string): Promise<string> {
      const hashes = await inclusionProof(index, entries.length, node)
      const signed = note ?? (await checkpoint())
      return formatLedgerProof({ head, opening: { blinding }, index, hashes, checkpoint: signed })
    },
    consistency: (older: number, newer = entries.length) => consistencyProof(older, newer, node),
    /** Reads the bundle of entries that the log serves at a path. */
    async read(path: string): Promise<Uint8Array> {
      const tile = parseTilePath(path)
      if (tile?.level !== 'entries') throw new Error(`no ${path}`)
      const first = tile.index * tileWidth
      const bundle = entries.slice(first, first + tile.width).flatMap((entry) => {
        const length = Buffer.alloc(2)
        length.writeUInt16BE(entry.length)
        return [length, entry]
      })
      return new Uint8Array(Buffer.concat(bundle))
    },
  }
}
