import { hash, randomBytes } from 'node:crypto'
import canonicalize from 'canonicalize'
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
import type { ListedKey, Publication } from '../../../packages/client/src/log/publication.ts'
import { parseTilePath, tileWidth } from '../../../packages/client/src/log/tiles.ts'
import { leafHash, nodeHash } from '../../../packages/client/src/log/tree.ts'
import { type NaiveLeaf, naiveLeaf, naivePath, naiveRoot } from './naive-map.ts'
import { createSigner, datedNote, signedNote, type TestSigner } from './signers.ts'

/** A log in memory, without any check: it can be made to contradict itself. */
export async function createMemoryLog(origin = 'log.example/log', stolen?: TestSigner) {
  const signer = stolen ?? (await createSigner(origin))
  const blinding = new Uint8Array(randomBytes(32))
  const entries: Bytes[] = []
  const map = new Map<string, NaiveLeaf>()

  const node: ReadNode = async (level, index) =>
    level === 0
      ? leafHash(entries[index] ?? new Uint8Array())
      : nodeHash(await node(level - 1, index * 2), await node(level - 1, index * 2 + 1))

  async function checkpoint(size = entries.length, ...witnesses: TestSigner[]): Promise<string> {
    const text = formatCheckpoint({ origin, size, root: await treeRoot(size, node) })
    return signedNote(text, signer, ...witnesses)
  }
  async function append(head: LoggedHead): Promise<number> {
    const { ledgerId, ...rest } = head
    const key = await entryKey(blinding, head.revision)
    const entry = formatEntry({ ...rest, ledger: await blindedLedgerId(key, ledgerId) })
    map.set(ledgerId, naiveLeaf(ledgerId, key, entry))
    return entries.push(entry) - 1
  }
  return {
    key: signer.key,
    signer,
    blinding,
    entries,
    /** The index of the new entry. */
    append,
    /** Logs that the project publishes these keys from an event on; returns the public proof of it. */
    async publish(
      event: Pick<LoggedHead, 'ledgerId' | 'revision'>,
      keys: readonly ListedKey[],
      {
        date = Math.floor(Date.now() / 1_000),
        witnesses = [],
      }: { date?: number; witnesses?: readonly TestSigner[] } = {},
    ): Promise<string> {
      const publication = publicationOf(keys)
      const head = { ...event, head: headOf(publication), time: '2026-01-31T12:00:00.000Z' }
      const index = await append(head)
      const leaves = [...map.values()]
      const heads = { heads: naiveRoot(leaves).toString('hex'), time: head.time }
      const size = entries.push(formatEntry(heads))
      const text = formatCheckpoint({ origin, size, root: await treeRoot(size, node) })
      const note = await datedNote(text, signer, { date, witnesses })
      const hashes = await inclusionProof(index, size, node)
      const last = {
        time: heads.time,
        hashes: await inclusionProof(size - 1, size, node),
        path: naivePath(leaves, hash('sha256', event.ledgerId, 'buffer')),
      }
      const opening = { key: await entryKey(blinding, head.revision) }
      return formatLedgerProof({
        head,
        opening,
        publication,
        last,
        index,
        hashes,
        checkpoint: note,
      })
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

/** What an event with random content publishes. */
function publicationOf(keys: readonly ListedKey[]): Publication & { published: object } {
  const [previous, contentDigest] = [0, 1].map(() => randomBytes(32).toString('hex'))
  const list = canonicalize(keys) ?? ''
  const published = { list: hash('sha256', list, 'base64url'), jwks: 'a', jwksFull: 'b' }
  return { previous: `${previous}`, contentDigest: `${contentDigest}`, published, list }
}

/** The hash of the event, by docs/ledger.md. */
export function headOf({ previous, contentDigest, published }: Publication): string {
  return hash('sha256', `${previous}\n${contentDigest}\n${canonicalize(published)}`)
}
