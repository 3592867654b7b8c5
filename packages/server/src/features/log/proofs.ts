import { genesisHash } from '@pubring/client/internal/log/chain'
import { type Bytes, fromBase64, toHex, utf8 } from '@pubring/client/internal/log/encoding'
import { mapLeaf, mapRoot } from '@pubring/client/internal/log/heads-map'
import { entryKey, parseEntry } from '@pubring/client/internal/log/leaf'
import { formatLedgerProof, type LastHead } from '@pubring/client/internal/log/ledger-proof'
import { inclusionProof } from '@pubring/client/internal/log/proofs'
import { leafHash } from '@pubring/client/internal/log/tree'
import { PubringError } from '../../errors.ts'
import { contentDigest } from '../../kernel/ledger/chain.ts'
import { readEventRows } from '../../kernel/ledger/event-reads.ts'
import { eventFromRow } from '../../kernel/ledger/stored.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { present } from '../../runtime/present.ts'
import type { LedgerProof } from './contract.ts'
import { logError } from './faults.ts'
import { findHeads } from './last-heads/heads.ts'
import { mapPath, storedMap } from './last-heads/map.ts'
import { findEntry, readTree } from './reads.ts'
import { createNodeReader, listDigest, sha256 } from './tiles.ts'

/**
 * Proves the first logged head of the ledger that covers a revision, or its last one, against the
 * published checkpoint. Throws `not_logged` if there is none.
 */
export async function proveLedger(
  db: Db,
  ledgerId: string,
  revision: number | undefined,
): Promise<LedgerProof> {
  const { head, blinding, index, hashes, checkpoint } = await findProof(db, ledgerId, revision)
  const proof = formatLedgerProof({ head, opening: { blinding }, index, hashes, checkpoint })
  return { ...head, checkpoint, proof }
}

/**
 * Proves the last logged head of a project, and which keys it published, as text for everyone: it holds
 * the key of this entry and not the secret of the ledger. Throws `not_logged` if there is none. Without the
 * list from when a later head is appended until its checkpoint is published, which takes longer after a crash.
 */
export async function proveHead(db: Db, ledgerId: string): Promise<string> {
  const found = await findProof(db, ledgerId)
  const { head, blinding, list, index, hashes, checkpoint } = found
  const key = await entryKey(blinding, head.revision, sha256)
  const last = await findLast(db, found, key)
  if (last === undefined) {
    // Another checkpoint was published meanwhile.
    if ((await readTree(db))?.checkpoint !== checkpoint) return proveHead(db, ledgerId)
    throw logError('damaged')
  }
  const page = { after: head.revision - 2, limit: 2 }
  const events = (await readEventRows(db, ledgerId, page)).map(eventFromRow)
  const event = events.find(({ revision }) => revision === head.revision)
  if (event === undefined) throw logError('rewritten')
  const previous = events.find(({ revision }) => revision < head.revision)?.hash ?? genesisHash
  const { published } = event
  const isListed = list !== null && listDigest(list) === published?.list
  const publication = {
    previous,
    contentDigest: contentDigest(event),
    ...present({ published: published && { ...published }, list: isListed ? list : undefined }),
  }
  return formatLedgerProof({ head, opening: { key }, publication, last, index, hashes, checkpoint })
}

type FoundProof = Awaited<ReturnType<typeof findProof>>

/** Shows that the entry is the last one of its ledger; undefined if the map of last heads does not. */
async function findLast(
  db: Db,
  { head: { ledgerId }, content, size }: FoundProof,
  key: Bytes,
): Promise<LastHead | undefined> {
  const leaf = await mapLeaf(
    { ledgerId, key, entry: await leafHash(utf8(content), sha256) },
    sha256,
  )
  const path = await mapPath(storedMap(db), leaf.slot)
  const entry = await findHeads(db, size)
  if (entry?.heads !== toHex(await mapRoot(leaf, path, sha256))) return undefined
  const hashes = await inclusionProof(size - 1, size, createNodeReader(db, size), sha256)
  return { time: entry.time, hashes, path }
}

async function findProof(db: Db, ledgerId: string, revision?: number) {
  const current = await readTree(db)
  if (current?.checkpoint === undefined) throw notLogged()
  const { checkpoint, checkpointSize: size } = current
  const search = { before: size, ...present({ revision }) }
  const found = await findEntry(db, ledgerId, search)
  if (found === undefined) throw notLogged()
  const { position: index, content, list } = found
  const blinding = fromBase64(found.blinding)
  if (blinding === undefined) throw logError('damaged')
  const entry = parseEntry(utf8(content))
  if (!('ledger' in entry)) throw logError('damaged')
  const { ledger: _ledger, ...members } = entry
  const hashes = await inclusionProof(index, size, createNodeReader(db, size), sha256)
  const head = { ledgerId, ...members }
  return { head, content, blinding, list, index, hashes, checkpoint, size }
}

function notLogged(): PubringError {
  return new PubringError(
    'not_logged',
    'The log has no such event of this ledger yet: it may get there with the next checkpoint.',
  )
}
