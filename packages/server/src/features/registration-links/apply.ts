import { PubringError } from '../../errors.ts'
import type { Outcome, Transaction } from '../../kernel/changes.ts'
import { notFound } from '../../kernel/faults.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'
import { appendEvents, lockProjectLedger } from '../../kernel/ledger/locked-ledger.ts'
import { requireProject } from '../projects/apply.ts'
import type { KeyProof, LinkCreation, LinkOpening, LinkRevocation } from './changes.ts'
import { maxOpenLinks } from './contract.ts'
import { findLink, isProven, readOpenLinks } from './reads.ts'
import { isLive, type LinkRecord, links, linkToRow } from './stored.ts'

export async function createLink(
  tx: Transaction,
  { projectId, link, origin }: LinkCreation,
): Promise<Outcome<undefined>> {
  const { db } = tx
  const ledger = await lockProjectLedger(tx, projectId, origin)
  await requireProject(db, projectId)
  if ((await readOpenLinks(db, projectId, origin.time)).length >= maxOpenLinks) {
    throw new PubringError(
      'link_limit_reached',
      `${maxOpenLinks} registration links of the project are open. Delete those that are no longer needed, or wait until some are opened or expire.`,
      { limit: maxOpenLinks },
    )
  }
  await db.insertInto('registration_link').values(linkToRow(link)).execute()
  await appendEvents(ledger, [links.eventOf('created', link)])
  return { result: undefined, changed: true }
}

/** Opens the link for one browser. Throws `link_not_found` if it has ended or is open in another one. */
export async function openLink(
  tx: Transaction,
  { projectId, id, sessionDigest, origin }: LinkOpening,
): Promise<Outcome<LinkRecord>> {
  const { db } = tx
  const ledger = await lockProjectLedger(tx, projectId, origin)
  await requireProject(db, projectId)
  const link = await findLink(db, projectId, id)
  if (link === undefined || link.openTime !== undefined || !isLive(link, origin.time)) {
    throw notFound('link_not_found')
  }
  const opened = { ...link, openTime: origin.time, sessionDigest }
  const row = { open_time: origin.time, session_digest: sessionDigest }
  await db.updateTable('registration_link').set(row).where('id', '=', id).execute()
  await appendEvents(ledger, [links.event('opened', id, links.state(opened))])
  return { result: opened, changed: true }
}

/** The first valid token of each key is an event of its link, and later ones are not. */
export async function recordProof(
  tx: Transaction,
  { projectId, id, kid, origin }: KeyProof,
): Promise<Outcome<undefined>> {
  const { db } = tx
  const ledger = await lockProjectLedger(tx, projectId, origin)
  const link = await findLink(db, projectId, id)
  if (link === undefined || (await isProven(db, id, kid))) {
    return { result: undefined, changed: false }
  }
  const changes = { kid: { to: kid }, ...links.state(link) }
  await appendEvents(ledger, [links.event('token_checked', id, changes)])
  return { result: undefined, changed: true }
}

/** Revokes the link, and with it its session. One that has ended stays as it is. */
export async function revokeLink(
  tx: Transaction,
  { projectId, id, origin }: LinkRevocation,
): Promise<Outcome<undefined>> {
  const { db } = tx
  const ledger = await lockProjectLedger(tx, projectId, origin)
  const link = await findLink(db, projectId, id)
  if (link === undefined) throw notFound('link_not_found')
  if (!isLive(link, origin.time)) return { result: undefined, changed: false }
  const revoked = { ...link, revokeTime: origin.time }
  const row = { revoke_time: origin.time }
  await db.updateTable('registration_link').set(row).where('id', '=', id).execute()
  await appendEvents(ledger, [links.event('revoked', id, links.state(revoked))])
  return { result: undefined, changed: true }
}

/** Erases the notes of the links of a deleted project, whose ledger keeps the rest. */
export async function eraseNotes({ db }: Transaction, projectId: string): Promise<NewEvent[]> {
  const query = db.updateTable('registration_link').set({ note: '' })
  await query.where('project_id', '=', projectId).execute()
  return []
}
