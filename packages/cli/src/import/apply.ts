import type { JwtKey, JwtKeyUpdate } from '@pubring/client'
import { present } from '@pubring/server/runtime/present'
import type { NameFlags } from '../admin/projects.ts'
import { hasCode, type Session, selectProject, unless } from '../connection/session.ts'
import { confirmLastActive, type KeyState, withPatches } from '../keys/last-active.ts'
import { confirm, type YesFlag } from '../terminal/confirm.ts'
import { exitCodes } from '../terminal/exit-codes.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { sourceName } from '../terminal/files.ts'
import { colorsFor, escapeControls, type Terminal } from '../terminal/terminal.ts'
import { readDeclaration } from './declaration.ts'
import type { KeyRecord } from './entry.ts'
import {
  checkRows,
  type ImportRow,
  isSendable,
  privateKeyError,
  type SendableRow,
  toRows,
} from './rows.ts'
import { sendBatch } from './send.ts'

interface ApplyFlags extends YesFlag, NameFlags {
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
    if (isNew) await createProject(session, flags)
    terminal.exitCode = exitCodes.drift.code
    return
  }
  const before = existing ?? []
  await confirmLastActive(session, { before, after: statesAfter(plan, before) }, flags)
  const isRemoval =
    plan.delete.length > 0 || plan.change.some(({ patch }) => patch.active === false)
  await confirm(terminal, flags, {
    statement: isRemoval ? 'This deactivates or deletes keys.' : 'This is the plan.',
    question: 'Do it?',
    needsYes: isRemoval,
  })
  if (isNew) await createProject(session, flags)
  await carryOut(session, plan)
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
 * The declared keys, with the kid of those that are registered. Throws if the server rejects any, or
 * this machine those of a project that does not exist yet.
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
  if (!exists) checkRows(probes)
  await sendAll(session, probes, true)
  rows.forEach((row, index) => {
    const kid = probes[index]?.kid
    if (kid !== undefined) row.kid = kid
  })
  return rows.filter(isSendable)
}

/** Sends all rows in one request. Throws if the server rejects any. */
async function sendAll(
  session: Session,
  rows: readonly ImportRow[],
  dryRun: boolean,
): Promise<void> {
  const sendable = rows.filter(isSendable)
  if (sendable.length > 0) {
    await sendBatch(session, { project: session.project, rows: sendable }, { dryRun })
  }
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
    notify(`Project ${project} does not exist yet: it ${dryRun ? 'would be' : 'is'} created.`)
    return
  }
  const count = plan.undeclared.length
  if (count > 0) notify(`Keys that are not in the file: ${count}. They stay; --prune deletes them.`)
  if (isEmpty(plan) && plan.withheld.length === 0)
    notify(`Nothing to do: project ${project} matches the file.`)
}

/**
 * Creates the project, unless it is a dry run or another run has just done so. It stays if its keys are
 * rejected: its name would be kept from the next run.
 */
async function createProject(
  session: Session,
  { releaseName: release, dryRun }: ApplyFlags,
): Promise<void> {
  const { client, project: name } = session
  try {
    await client.projects.create({ name, dryRun: dryRun === true }, { release })
  } catch (error) {
    const isTaken = hasCode(error, 'project_name_taken')
    if (!isTaken || error.problem?.heldUntil !== undefined) throw error
  }
}

/** Adds keys first and removes them last, so that there is always one to sign with. */
async function carryOut(session: Session, plan: Plan): Promise<void> {
  const { client, project } = session
  await sendAll(session, plan.add, false)
  for (const { key, patch } of plan.change) await client.keys.update(project, key.id, patch)
  for (const { id, active } of plan.delete) {
    if (active) await unless('key_not_found', client.keys.update(project, id, { active: false }))
    await unless('key_not_found', client.keys.delete(project, id))
  }
}

type DeclaredRow = SendableRow & { declared: Pick<KeyRecord, 'active' | 'expireTime'> }

/** The changes that make a project match a declaration, in this order. */
interface Plan {
  add: SendableRow[]
  change: { key: JwtKey; patch: JwtKeyUpdate }[]
  delete: JwtKey[]
  /** Keys that are not in the file and stay. */
  undeclared: JwtKey[]
  /** Declared keys that were registered before and deleted; they are not registered again. */
  withheld: SendableRow[]
}

/** The plan for the declared keys, of which the registered ones have a kid. */
function createPlan(
  declared: readonly DeclaredRow[],
  existing: readonly JwtKey[],
  { prune, now }: { prune: boolean; now: number },
): Plan {
  const byKid = new Map(existing.map((key) => [key.id, key]))
  const plan: Plan = { add: [], change: [], delete: [], undeclared: [], withheld: [] }
  for (const row of declared) {
    const key = byKid.get(row.kid ?? '')
    if (key === undefined) {
      // A key that is over has nothing to register, and the server would reject it.
      if (!isOver(row.declared.expireTime, now)) plan.add.push(row)
      continue
    }
    const patch = patchFor(row, key, now)
    if (Object.keys(patch).length > 0) plan.change.push({ key, patch })
  }
  const kids = new Set(declared.map(({ kid }) => kid))
  const others = existing.filter(({ id }) => !kids.has(id))
  return prune ? { ...plan, delete: others } : { ...plan, undeclared: others }
}

function isOver(expireTime: string | null | undefined, now: number): boolean {
  return typeof expireTime === 'string' && Date.parse(expireTime) <= now
}

/** Members that the file leaves out stay: a revocation is not undone by the next run. */
function patchFor({ label, declared }: DeclaredRow, key: JwtKey, now: number): JwtKeyUpdate {
  const { active, expireTime = key.expireTime ?? null } = declared
  const isExpired = isOver(expireTime, now)
  const isWanted = active === undefined ? key.active : active && !isExpired
  return {
    ...(label === key.label ? {} : { label }),
    ...(isWanted === key.active ? {} : { active: isWanted }),
    ...(expireTime === (key.expireTime ?? null) ? {} : { expireTime }),
  }
}

function isEmpty(plan: Plan): boolean {
  return plan.add.length + plan.change.length + plan.delete.length === 0
}

/** The states of the keys of the project once the plan is carried out. */
function statesAfter(plan: Plan, existing: readonly JwtKey[]): KeyState[] {
  const removed = new Set(plan.delete.map(({ id }) => id))
  const kept = existing.filter(({ id }) => !removed.has(id))
  const patches = new Map(plan.change.map(({ key, patch }) => [key.id, patch]))
  const added = plan.add.map(({ item: { algorithm, active = true, expireTime } }) => {
    return { algorithm, active, ...present({ expireTime }) }
  })
  return [...withPatches(kept, patches), ...added]
}

/** The plan for a person: the lines of a unified diff from the project to the file. */
function planText(terminal: Terminal, plan: Plan, names: { from: string; to: string }) {
  const { red, green } = colorsFor(terminal)
  const show = (value: unknown) => escapeControls(String(value ?? 'none'))
  const added = plan.add.map(({ label, item: { algorithm, active } }) => {
    return `+ ${show(label)} (${algorithm}${active === false ? ', inactive' : ''})`
  })
  const changed = plan.change.flatMap(({ key, patch }) => [
    `  ${key.id} ${show(key.label)}`,
    ...Object.entries(patch).flatMap(([member, value]) => [
      `-   ${member}: ${show(Reflect.get(key, member))}`,
      `+   ${member}: ${show(value)}`,
    ]),
  ])
  const deleted = plan.delete.map(({ id, label, active }) => {
    return `- ${id} ${show(label)}${active ? ' (active: deactivate, then delete)' : ''}`
  })
  const lines = [`--- ${names.from}`, `+++ ${names.to}`, ...added, ...changed, ...deleted]
  const color = (line: string) =>
    line.startsWith('+') ? green(line) : line.startsWith('-') ? red(line) : line
  return isEmpty(plan) ? '' : lines.map((line) => `${color(line)}\n`).join('')
}

/** The plan for programs, as JSON. */
function planDocument({ add, change, delete: removed, undeclared, withheld }: Plan) {
  const reference = ({ id, label }: JwtKey) => ({ kid: id, label })
  return {
    add: add.map(({ label, item: { algorithm, active = true } }) => ({ label, algorithm, active })),
    change: change.map(({ key, patch }) => ({ ...reference(key), patch })),
    delete: removed.map(reference),
    undeclared: undeclared.map(reference),
    withheld: withheld.map(({ label }) => ({ label })),
  }
}
