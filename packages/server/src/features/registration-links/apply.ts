import { PubringError } from '../../errors.ts'
import type { Transaction } from '../../kernel/changes.ts'
import { notFound } from '../../kernel/faults.ts'
import { appendChange, lockProjectLedger } from '../../kernel/ledger/locked-ledger.ts'
import { recordWriter } from '../../kernel/ledger/record-writer.ts'
import { requireProject } from '../projects/apply.ts'
import type { KeyProof, LinkChange, LinkCreation, LinkOpening } from './changes.ts'
import { maxOpenLinks } from './contract.ts'
import { findLink, isProven, readOpenLinks } from './reads.ts'
import { isLive, links, linkTable, toRow } from './stored.ts'

const write = recordWriter(linkTable, links, toRow)
const unchanged = { result: undefined, changed: false }

export async function createLink(tx: Transaction, change: LinkCreation) {
  const { projectId, link: after, origin } = change
  const ledger = await lockProjectLedger(tx, projectId, origin)
  await requireProject(tx.db, projectId)
  if ((await readOpenLinks(tx.db, projectId, origin.time)).length >= maxOpenLinks) {
    throw new PubringError(
      'link_limit_reached',
      `${maxOpenLinks} registration links of the project are open. Delete those that are no longer needed, or wait until some are opened or expire.`,
      { limit: maxOpenLinks },
    )
  }
  return appendChange(ledger, await write(tx.db, { verb: 'created', before: undefined, after }))
}

/** Opens the link for one browser. Throws `link_not_found` if it has ended or is open in another one. */
export async function openLink(tx: Transaction, change: LinkOpening) {
  const { ledger, before } = await lockLink(tx, change)
  if (before.sessionDigest !== undefined || !isLive(before, change.origin.time))
    throw notFound('link_not_found')
  const after = { ...before, sessionDigest: change.sessionDigest }
  return appendChange(ledger, await write(tx.db, { verb: 'opened', before, after }))
}

/** Revokes the link, and with it its session. One that has ended stays as it is. */
export async function revokeLink(tx: Transaction, change: LinkChange) {
  const { ledger, before } = await lockLink(tx, change)
  if (!isLive(before, change.origin.time)) return unchanged
  const after = { ...before, revokeTime: change.origin.time }
  return appendChange(ledger, await write(tx.db, { verb: 'revoked', before, after }))
}

/** The first valid token of each key is an event of its link, and later ones are not. */
export async function recordProof(tx: Transaction, change: KeyProof) {
  const { id, kid } = change
  const { ledger, before } = await lockLink(tx, change)
  if (await isProven(tx.db, id, kid)) return unchanged
  const changes = { kid: { to: kid }, ...links.state(before) }
  return appendChange(ledger, links.event('token_checked', id, changes))
}

async function lockLink(tx: Transaction, { projectId, id, origin }: LinkChange) {
  const ledger = await lockProjectLedger(tx, projectId, origin)
  return { ledger, before: await findLink(tx.db, projectId, id) }
}

/** Erases the notes of the links of a deleted project, whose ledger keeps the rest. */
export async function eraseNotes({ db }: Transaction, projectId: string) {
  const query = db.updateTable('registration_link').set({ note: '' })
  await query.where('project_id', '=', projectId).execute()
  return []
}
