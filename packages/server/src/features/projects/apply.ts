import { PubringError } from '../../errors.ts'
import { requireRecentSignIn } from '../../kernel/access/authorization.ts'
import { projects } from '../../kernel/access/stored-projects.ts'
import type { Origin, Outcome, Transaction } from '../../kernel/changes.ts'
import { projectEntityTag, requireIfMatch } from '../../kernel/entity-tags.ts'
import { notFound } from '../../kernel/faults.ts'
import { type NewEvent, type PublishedDigests, systemLedgerId } from '../../kernel/ledger/chain.ts'
import {
  appendEvents,
  type LockedLedger,
  lockProjectLedger,
  lockSystemLedger,
  openLedger,
} from '../../kernel/ledger/locked-ledger.ts'
import type { ProjectRecord } from '../../kernel/records.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { exists } from '../../kernel/storage/statements.ts'
import { isoTime, latest } from '../../kernel/values/times.ts'
import { publishNothing, withdraw } from '../keys/published/stored.ts'
import {
  type ProjectCreation,
  type ProjectDeletion,
  type ProjectRenaming,
  projectDeleted,
} from './changes.ts'

/**
 * To take a name that another project gave up, or an id from elsewhere, a session must have a recent
 * sign-in: verifiers that still use it would accept the keys of a thief, and an id is never free again.
 */
export async function createProject(
  tx: Transaction,
  creation: ProjectCreation,
): Promise<Outcome<ProjectRecord>> {
  const { db } = tx
  const { id, name, origin, isOwnId, release, dryRun = false } = creation
  const { time } = origin
  if (await exists(db.selectFrom('ledger').select('hash').where('project_id', '=', id))) {
    throw idTaken()
  }
  const inserted = await db
    .insertInto('project')
    .values({ id, name, create_time: time, update_time: time })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  if (inserted === undefined) {
    // The project that had the name may have given it up since.
    throw (await exists(db.selectFrom('project').select('id').where('id', '=', id)))
      ? idTaken()
      : nameTaken()
  }
  await requireReleasedName(db, id, creation)
  const ledger = await openLedger(db, id, origin)
  const project = { id, name, createTime: time, updateTime: time }
  const published = await publishNothing(tx, id)
  const system = await appendToBoth(tx, ledger, projects.eventOf('created', project), published)
  if (isOwnId || release) requireRecentSignIn(system)
  return { result: { ...project, revision: ledger.revision }, changed: !dryRun }
}

export async function renameProject(
  tx: Transaction,
  renaming: ProjectRenaming,
): Promise<Outcome<ProjectRecord>> {
  const { db } = tx
  const { projectId, name, ifMatch, origin } = renaming
  const { ledger, project } = await lockProject(tx, projectId, origin)
  requireIfMatch(ifMatch, projectEntityTag(project), 'project')
  if (name === undefined || name === project.name) return { result: project, changed: false }
  if (await isNameTaken(db, name)) throw nameTaken()
  const updateTime = latest(origin.time, project.updateTime)
  const row = { name, update_time: updateTime }
  await db.updateTable('project').set(row).where('id', '=', projectId).execute()
  await requireReleasedName(db, projectId, { ...renaming, name })
  const { revision: _revision, ...before } = project
  const after = { ...before, name, updateTime }
  const renamed = projects.event('renamed', projectId, projects.changes(before, after))
  await appendToBoth(tx, ledger, renamed)
  return { result: { ...after, revision: ledger.revision }, changed: true }
}

export async function deleteProject(
  tx: Transaction,
  { projectId, ifMatch, origin }: ProjectDeletion,
): Promise<Outcome<undefined>> {
  const { db } = tx
  const { ledger, project } = await lockProject(tx, projectId, origin)
  requireIfMatch(ifMatch, projectEntityTag(project), 'project')
  if (await exists(db.selectFrom('jwt_key').select('id').where('project_id', '=', projectId))) {
    throw new PubringError(
      'project_not_empty',
      'The project still has JWT keys. Deactivate and delete them first.',
    )
  }
  await db.deleteFrom('project').where('id', '=', projectId).execute()
  await withdraw(tx, projectId)
  const event = projects.event('deleted', projectId, { name: { from: project.name } })
  await appendEvents(ledger, [event])
  const system = await lockSystemLedger(tx, origin)
  const bound = await tx.hooks.run(projectDeleted, tx, projectId)
  await appendEvents(system, [event, ...bound.flat()])
  return { result: undefined, changed: true }
}

/** Throws `project_not_found`. */
export async function requireProject(db: Db, id: string): Promise<void> {
  const query = db.selectFrom('project').select('id').where('id', '=', id)
  if (!(await exists(query))) throw notFound('project_not_found')
}

function isNameTaken(db: Db, name: string): Promise<boolean> {
  return exists(db.selectFrom('project').select('id').where('name', '=', name))
}

/** The time for which a name that a project gave up is kept from others. */
const nameHoldMs = 24 * 3_600_000

/**
 * Throws `project_name_taken` if another project gave the name up within the last 24 hours: verifiers
 * that still use it would accept the keys of this one. Only the last project that had the name may take
 * it back. Runs after the name is written, which waits for a transaction that gives it up.
 */
async function requireReleasedName(
  db: Db,
  projectId: string,
  { name, origin, release }: Pick<ProjectCreation, 'name' | 'origin' | 'release'>,
): Promise<void> {
  if (release) return
  const given = await db
    .selectFrom('event')
    .select(['time', 'revision', 'subject_id'])
    .where('type', 'in', ['project.renamed', 'project.deleted'])
    .where('time', '>', isoTime(Date.parse(origin.time) - nameHoldMs))
    .where('project_id', '=', systemLedgerId)
    .where('changes', 'like', `%"name":{"from":"${name}"%`)
    .execute()
  const last = given.toSorted((one, other) => one.revision - other.revision).at(-1)
  if (last === undefined || last.subject_id === projectId) return
  const heldUntil = isoTime(Date.parse(last.time) + nameHoldMs)
  throw new PubringError(
    'project_name_taken',
    `Another project had this name until ${last.time}, and verifiers may still use it, so it is kept from other projects until ${heldUntil}. Choose another name, or take this one with the query parameter release=true.`,
    { heldUntil },
  )
}

/** The project before the change, locked. Throws `project_not_found`. */
async function lockProject(
  tx: Transaction,
  projectId: string,
  origin: Origin,
): Promise<{ ledger: LockedLedger; project: ProjectRecord }> {
  const ledger = await lockProjectLedger(tx, projectId, origin)
  const [project] = await projects.readUnchecked(tx.db, (all) => all.where('id', '=', projectId))
  if (project === undefined) throw notFound('project_not_found')
  return { ledger, project: { ...project, revision: ledger.revision - 1 } }
}

/** Appends the event to the project's ledger and to the system's, which it returns. */
async function appendToBoth(
  tx: Transaction,
  ledger: LockedLedger,
  event: NewEvent,
  published?: PublishedDigests,
): Promise<LockedLedger> {
  await appendEvents(ledger, [event], published)
  const system = await lockSystemLedger(tx, ledger.origin)
  await appendEvents(system, [event])
  return system
}

/** The error for an id whose ledger exists: the new project would continue it. */
function idTaken(): PubringError {
  return new PubringError(
    'project_id_taken',
    'There is, or was, a project with this id here. Its ledger is kept, so the id cannot be given again.',
  )
}

function nameTaken(): PubringError {
  return new PubringError(
    'project_name_taken',
    'There is already a project with this name. Choose another one.',
  )
}
