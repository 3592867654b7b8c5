import { PubringError } from '../../errors.ts'
import { projects } from '../../kernel/access/stored-projects.ts'
import type { Origin, Outcome, Transaction } from '../../kernel/changes.ts'
import { projectEntityTag, requireIfMatch } from '../../kernel/entity-tags.ts'
import { notFound } from '../../kernel/faults.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'
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
import { latest } from '../../kernel/values/times.ts'
import {
  type ProjectCreation,
  type ProjectDeletion,
  type ProjectRenaming,
  projectDeleted,
} from './changes.ts'

export async function createProject(
  tx: Transaction,
  { id, name, origin }: ProjectCreation,
): Promise<Outcome<ProjectRecord>> {
  const { db } = tx
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
    throw (await isNameTaken(db, name)) ? nameTaken() : idTaken()
  }
  const ledger = await openLedger(db, id, origin)
  const project = { id, name, createTime: time, updateTime: time }
  await appendToBoth(tx, ledger, projects.eventOf('created', project))
  return { result: { ...project, revision: ledger.revision }, changed: true }
}

export async function renameProject(
  tx: Transaction,
  { projectId, name, ifMatch, origin }: ProjectRenaming,
): Promise<Outcome<ProjectRecord>> {
  const { db } = tx
  const { ledger, project } = await lockProject(tx, projectId, origin)
  requireIfMatch(ifMatch, projectEntityTag(project), 'project')
  if (project.name === name) return { result: project, changed: false }
  if (await isNameTaken(db, name)) throw nameTaken()
  const updateTime = latest(origin.time, project.updateTime)
  const row = { name, update_time: updateTime }
  await db.updateTable('project').set(row).where('id', '=', projectId).execute()
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

/** Appends the event to the project's ledger and to the system's. */
async function appendToBoth(tx: Transaction, ledger: LockedLedger, event: NewEvent): Promise<void> {
  const { origin } = ledger
  await appendEvents(ledger, [event])
  await appendEvents(await lockSystemLedger(tx, origin), [event])
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
