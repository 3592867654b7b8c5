import { type Session, selectProject } from '../connection/session.ts'
import { confirmLastActive } from '../keys/last-active.ts'
import { confirm, type YesFlag } from '../terminal/confirm.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import type { Terminal } from '../terminal/terminal.ts'
import {
  createPlan,
  isEmpty,
  type Plan,
  planDocument,
  planText,
  removesKeys,
  statesAfter,
} from './plan.ts'
import { type ImportRow, privateKeyError, toRows } from './rows.ts'
import { isSendable, type SendableRow, type SendOptions, sendRows } from './send.ts'
import { readDeclaration } from './sources/declaration.ts'

/** Flags of `apply`. */
interface ApplyFlags extends YesFlag {
  project?: string
  prune?: true
  dryRun?: true
}

/** Makes a project's keys match a file: shows the plan, then carries it out. */
export async function applyFile(session: Session, file: string, flags: ApplyFlags): Promise<void> {
  const { client, terminal } = session
  const { project: declared, entries } = await readDeclaration(file, terminal)
  if (flags.project !== undefined && declared !== undefined && flags.project !== declared) {
    throw usageError(
      `The file declares project ${declared}, but the command names ${flags.project}.`,
    )
  }
  if (declared !== undefined) selectProject(session, declared, file)
  const { project } = session
  const rows = toRows(entries, { project })
  const privateKey = privateKeyError(rows)
  if (privateKey !== undefined) throw privateKey
  const existing = await client.keys.list(project)
  const now = session.now()
  const prune = flags.prune === true
  const plan = createPlan(await findRegistered(session, rows), existing, { prune, now })
  showPlan(session, plan, flags)
  if (isEmpty(plan) || flags.dryRun === true) return
  await confirmLastActive(
    session,
    { before: existing, after: statesAfter(plan, existing, now) },
    flags,
  )
  await confirmPlan(terminal, plan, flags)
  await carryOut(session, plan)
  session.notify(
    `Added ${plan.add.length}, changed ${plan.change.length}, deleted ${plan.delete.length}.`,
  )
}

/** The declared keys, with the kid of those that are registered. Throws if any is rejected. */
async function findRegistered(session: Session, rows: ImportRow[]): Promise<SendableRow[]> {
  // A past expiry is a fault of new keys only, so the dry run leaves it out.
  const probes = rows.map((row) => {
    if (row.item === undefined) return row
    const { expireTime: _time, ...item } = row.item
    return { ...row, errors: [...row.errors], item }
  })
  await sendAll(session, probes, { dryRun: true })
  rows.forEach((row, index) => {
    const kid = probes[index]?.kid
    if (kid !== undefined) row.kid = kid
  })
  return rows.filter(isSendable)
}

/** Sends all rows or none. Throws if the server rejects any. */
async function sendAll(
  session: Session,
  rows: readonly ImportRow[],
  options: SendOptions,
): Promise<void> {
  const overflow = await sendRows(session, rows, { ...options, inOneRequest: true })
  if (overflow !== undefined) throw overflow
  const faults = rows.flatMap(({ place, label, errors, number }) => {
    return errors.map((error) => ({
      place: `${place}, ${label}`,
      pointer: `/keys/${number - 1}`,
      ...error,
    }))
  })
  if (faults.length === 0) return
  throw new CommandError('refused', 'Keys of the file were rejected. Nothing was changed.', {
    code: 'import_refused',
    hints: faults.map(({ place, detail }) => `${place}: ${detail}`),
    problem: { errors: faults.map(({ place: _place, ...error }) => error) },
  })
}

function showPlan(session: Session, plan: Plan, { dryRun }: ApplyFlags): void {
  const { project, print, notify } = session
  print({ project, dryRun: dryRun === true, ...planDocument(plan) }, () => planText(plan))
  const count = plan.undeclared.length
  if (count > 0) notify(`Keys that are not in the file: ${count}. They stay; --prune deletes them.`)
  if (isEmpty(plan)) notify(`Nothing to do: project ${project} matches the file.`)
}

async function confirmPlan(terminal: Terminal, plan: Plan, flags: ApplyFlags): Promise<void> {
  const isRemoval = removesKeys(plan)
  await confirm(terminal, flags, {
    statement: isRemoval ? 'This deactivates or deletes keys.' : 'This is the plan.',
    question: 'Do it?',
    unattended: isRemoval ? 'refuse' : 'proceed',
  })
}

/** Adds keys first and removes them last, so that there is always one to sign with. */
async function carryOut(session: Session, plan: Plan): Promise<void> {
  const { client, project } = session
  await sendAll(session, plan.add, {})
  for (const { key, patch } of plan.change) await client.keys.update(project, key.id, patch)
  for (const { id, active } of plan.delete) {
    if (active) await client.keys.update(project, id, { active: false })
    await client.keys.delete(project, id)
  }
}
