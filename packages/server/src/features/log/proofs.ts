import { fromBase64, toBase64, utf8 } from '@pubring/client/internal/log/encoding'
import { entryKey, parseEntry } from '@pubring/client/internal/log/leaf'
import { formatLedgerProof } from '@pubring/client/internal/log/ledger-proof'
import { inclusionProof } from '@pubring/client/internal/log/proofs'
import { PubringError } from '../../errors.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { present } from '../../runtime/present.ts'
import type { LedgerProof } from './contract.ts'
import { logError } from './faults.ts'
import { findEntry, readTree } from './reads.ts'
import { createNodeReader, sha256 } from './tiles.ts'

/**
 * Proves the first logged head of the ledger that covers a revision, or its last one, against the
 * published checkpoint. Throws `not_logged` if there is none.
 */
export async function proveLedger(
  db: Db,
  ledgerId: string,
  revision: number | undefined,
): Promise<LedgerProof> {
  const { head, blinding, ...proof } = await findProof(db, ledgerId, revision)
  return {
    ...head,
    ...proof,
    blinding: toBase64(blinding),
    hashes: proof.hashes.map(toBase64),
    proof: formatLedgerProof({ head, opening: { blinding }, ...proof }),
  }
}

/** The same of the last one as text, with the key of this entry instead of the ledger's secret. */
export async function proveHead(db: Db, ledgerId: string): Promise<string> {
  const { head, blinding, ...proof } = await findProof(db, ledgerId)
  const opening = { key: await entryKey(blinding, head.revision, sha256) }
  return formatLedgerProof({ head, opening, ...proof })
}

async function findProof(db: Db, ledgerId: string, revision?: number) {
  const current = await readTree(db)
  if (current?.checkpoint === undefined) throw notLogged()
  const { checkpoint, checkpointSize: size } = current
  const search = { before: size, ...present({ revision }) }
  const found = await findEntry(db, ledgerId, search)
  if (found === undefined) throw notLogged()
  const { position: index, content } = found
  const blinding = fromBase64(found.blinding)
  if (blinding === undefined) throw logError('damaged')
  const { ledger: _ledger, ...entry } = parseEntry(utf8(content))
  const hashes = await inclusionProof(index, size, createNodeReader(db, size), sha256)
  return { head: { ledgerId, ...entry }, blinding, index, hashes, checkpoint }
}

function notLogged(): PubringError {
  return new PubringError(
    'not_logged',
    'The log has no such event of this ledger yet: it may get there with the next checkpoint.',
  )
}
