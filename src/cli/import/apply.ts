import { type Session, selectProject, unless } from '../connection/session.ts'
import { confirmLastActive } from '../keys/last-active.ts'
import { confirm, type YesFlag } from '../terminal/confirm.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { sourceName } from '../terminal/files.ts'
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
import { type ImportRow, isSendable, privateKeyError, type SendableRow, toRows } from './rows.ts'
import { type SendOptions, sendRows } from './send.ts'
import { readDeclaration } from './sources/declaration.ts'

/** Flags of `apply`. */
interface ApplyFlags extends YesFlag {
  project?: string
  prune?: true
  restoreDeleted?: true
  dryRun?: true
}

/** Makes a project's keys match a file: shows the plan, then carries it out. */
export async function applyFile(session: Session, file: string, flags: ApplyFlags): Promise<void> {
  const { client, terminal } = session
  const { project: declared, keys } = await readDeclaration(file, terminal)
  if (flags.project !== undefined && declared !== undefined && flags.project !== declared) {
    throw usageError(
      `The file declares project ${declared}, but the command names ${flags.project}.`,
    )
  }
  if (declared !== undefined) selectProject(session, declared, file)
  const { project } = session
  const entries = keys.map(({ entry }) => entry)
  const privateKey = privateKeyError(entries)
  if (privateKey !== undefined) throw privateKey
  const rows = toRows(entries, { project })
  const existing = await unless('project_not_found', client.keys.list(project))
  const registered = await findRegistered(session, rows, existing !== undefined)
  const all = registered.map((row) => ({ ...row, declared: keys[row.number - 1]?.declared ?? {} }))
  const now = session.now()
  const plan = createPlan(all, existing ?? [], { prune: flags.prune === true, now })
  const isNew = existing === undefined
  if (!isNew && flags.restoreDeleted !== true) await withholdDeleted(session, plan)
  showPlan(session, plan, { ...flags, file, isNew })
  const withheld = withheldError(plan)
  if (isEmpty(plan) && !isNew) {
    if (withheld !== undefined) throw withheld
    return
  }
  if (flags.dryRun === true) {
    terminal.exitCode = exitCodes.drift.code
    return
  }
  const before = existing ?? []
  await confirmLastActive(session, { before, after: statesAfter(plan, before) }, flags)
  await confirmPlan(terminal, plan, flags)
  await (isNew ? carryOutInNewProject(session, plan) : carryOut(session, plan))
  session.notify(
    `Added ${plan.add.length}, changed ${plan.change.length}, deleted ${plan.delete.length}.`,
  )
  if (withheld !== undefined) throw withheld
}

/**
 * Takes the keys that were registered before out of those to add: a run every minute must not bring
 * back a key that was deleted because it leaked.
 */
async function withholdDeleted({ client, project }: Session, plan: Plan): Promise<void> {
  if (plan.add.length === 0) return
  const kids = new Map<unknown, string>()
  for await (const { changes, subject } of client.events.all({ project, type: 'key.created' })) {
    kids.set(changes?.spkiSha256?.to, subject.id)
  }
  if (!plan.add.some(({ spkiSha256 }) => kids.has(spkiSha256))) return
  // Another run may have registered them since the first list.
  const present = new Set((await client.keys.list(project)).map(({ id }) => id))
  const isDeleted = ({ spkiSha256 }: SendableRow) => {
    const kid = kids.get(spkiSha256)
    return kid !== undefined && !present.has(kid)
  }
  plan.withheld = plan.add.filter(isDeleted)
  plan.add = plan.add.filter((row) => !isDeleted(row))
}

function withheldError({ withheld }: Plan): CommandError | undefined {
  if (withheld.length === 0) return undefined
  const labels = withheld.map(({ label }) => label).join(', ')
  const message = `Keys of the file were deleted here and are not registered again: ${labels}.`
  return new CommandError('refused', message, {
    code: 'import_refused',
    hints: ['Remove them from the file. To register them again: --restore-deleted'],
  })
}

/**
 * The declared keys, with the kid of those that are registered. Throws if the server rejects any; it
 * checks none for a project that does not exist yet.
 */
async function findRegistered(
  session: Session,
  rows: ImportRow[],
  exists: boolean,
): Promise<SendableRow[]> {
  // A past expiry is a fault of new keys only, so the dry run leaves it out.
  const probes = rows.map((row) => {
    if (row.item === undefined) return row
    const { expireTime: _time, ...item } = row.item
    return { ...row, errors: [...row.errors], item }
  })
  await sendAll(session, exists ? probes : probes.filter((row) => !isSendable(row)), {
    dryRun: true,
  })
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

function showPlan(
  { project, terminal, print, notify }: Session,
  plan: Plan,
  { dryRun, file, isNew }: ApplyFlags & { file: string; isNew: boolean },
): void {
  const created = isNew ? { createsProject: true } : {}
  const names = { from: isNew ? 'no project yet' : `project ${project}`, to: sourceName(file) }
  print({ project, dryRun: dryRun === true, ...created, ...planDocument(plan) }, () =>
    planText(terminal, plan, names),
  )
  if (isNew) {
    notify(
      `Project ${project} does not exist yet: it is created${dryRun ? ', and then its keys are checked' : ''}.`,
    )
    return
  }
  const count = plan.undeclared.length
  if (count > 0) notify(`Keys that are not in the file: ${count}. They stay; --prune deletes them.`)
  if (isEmpty(plan) && plan.withheld.length === 0)
    notify(`Nothing to do: project ${project} matches the file.`)
}

async function confirmPlan(terminal: Terminal, plan: Plan, flags: ApplyFlags): Promise<void> {
  const isRemoval = removesKeys(plan)
  await confirm(terminal, flags, {
    statement: isRemoval ? 'This deactivates or deletes keys.' : 'This is the plan.',
    question: 'Do it?',
    needsYes: isRemoval,
  })
}

/** Deletes the project again if its keys are rejected. */
async function carryOutInNewProject(session: Session, plan: Plan): Promise<void> {
  const { client, project, notify } = session
  const create = client.projects.create({ name: project })
  const created = await unless('project_name_taken', create)
  try {
    await carryOut(session, plan)
  } catch (error) {
    if (created !== undefined) {
      await client.projects.delete(created.id).catch(() => {
        notify(`Project ${project} was created and stays.`)
      })
    }
    throw error
  }
}

/** Adds keys first and removes them last, so that there is always one to sign with. */
async function carryOut(session: Session, plan: Plan): Promise<void> {
  const { client, project } = session
  await sendAll(session, plan.add, {})
  for (const { key, patch } of plan.change) await client.keys.update(project, key.id, patch)
  for (const { id, active } of plan.delete) {
    if (active) await unless('key_not_found', client.keys.update(project, id, { active: false }))
    await unless('key_not_found', client.keys.delete(project, id))
  }
}
