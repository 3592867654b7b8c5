import { PubringError } from '../../errors.ts'
import type { Outcome, Transaction } from '../../kernel/changes.ts'
import { notFound } from '../../kernel/faults.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'
import {
  appendEvents,
  type LockedLedger,
  lockProjectLedger,
} from '../../kernel/ledger/locked-ledger.ts'
import { recordWriter } from '../../kernel/ledger/record-writer.ts'
import { requireProject } from '../projects/apply.ts'
import type { KeyProof, LinkChange, LinkCreation, LinkOpening } from './changes.ts'
import { maxOpenLinks } from './contract.ts'
import { findLink, isProven, readOpenLinks } from './reads.ts'
import { isLive, links, linkTable, linkToRow } from './stored.ts'

type Applied = Promise<Outcome<undefined>>

const unchanged = { result: undefined, changed: false }

export async function createLink(tx: Transaction, change: LinkCreation): Applied {
  const { projectId, link, origin } = change
  const ledger = await lockProjectLedger(tx, projectId, origin)
  await requireProject(tx.db, projectId)
  if ((await readOpenLinks(tx.db, projectId, origin.time)).length >= maxOpenLinks) {
    throw new PubringError(
      'link_limit_reached',
      `${maxOpenLinks} registration links of the project are open. Delete those that are no longer needed, or wait until some are opened or expire.`,
      { limit: maxOpenLinks },
    )
  }
  return append(ledger, { verb: 'created', before: undefined, after: link })
}

/** Opens the link for one browser. Throws `link_not_found` if it has ended or is open in another one. */
export async function openLink(tx: Transaction, change: LinkOpening): Applied {
  const { sessionDigest, origin } = change
  const { ledger, link: before } = await lockLink(tx, change)
  if (before.openTime !== undefined || !isLive(before, origin.time))
    throw notFound('link_not_found')
  const after = { ...before, openTime: origin.time, sessionDigest }
  return append(ledger, { verb: 'opened', before, after })
}

/** Revokes the link, and with it its session. One that has ended stays as it is. */
export async function revokeLink(tx: Transaction, change: LinkChange): Applied {
  const { ledger, link: before } = await lockLink(tx, change)
  const { time } = change.origin
  if (!isLive(before, time)) return unchanged
  return append(ledger, { verb: 'revoked', before, after: { ...before, revokeTime: time } })
}

/** The first valid token of each key is an event of its link, and later ones are not. */
export async function recordProof(tx: Transaction, change: KeyProof): Applied {
  const { id, kid } = change
  const { ledger, link } = await lockLink(tx, change)
  if (await isProven(tx.db, id, kid)) return unchanged
  const changes = { kid: { to: kid }, ...links.state(link) }
  await appendEvents(ledger, [links.event('token_checked', id, changes)])
  return { result: undefined, changed: true }
}

async function lockLink(tx: Transaction, { projectId, id, origin }: LinkChange) {
  const ledger = await lockProjectLedger(tx, projectId, origin)
  return { ledger, link: await findLink(tx.db, projectId, id) }
}

const write = recordWriter(linkTable, links, linkToRow)

async function append(ledger: LockedLedger, change: Parameters<typeof write>[1]): Applied {
  await appendEvents(ledger, [await write(ledger.db, change)])
  return { result: undefined, changed: true }
}

/** Erases the notes of the links of a deleted project, whose ledger keeps the rest. */
export async function eraseNotes({ db }: Transaction, projectId: string): Promise<NewEvent[]> {
  const query = db.updateTable('registration_link').set({ note: '' })
  await query.where('project_id', '=', projectId).execute()
  return []
}
