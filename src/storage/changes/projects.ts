import type { Kysely } from 'kysely'
import { projectNotFound } from '../../core/access.ts'
import { projectEntityTag, requireMatch } from '../../core/keys/preconditions.ts'
import { type EventChanges, type EventType, systemLedgerId } from '../../core/ledger/chain.ts'
import type { ChangeOf, Origin } from '../../core/ledger/changes.ts'
import type { ProjectRecord } from '../../core/records.ts'
import { latest } from '../../core/times.ts'
import { PubringError } from '../../errors.ts'
import type { Tables } from '../schema.ts'
import { deleteBoundApiKeys } from './api-keys.ts'
import type { Outcome } from './apply.ts'
import { appendEvent, type LockedLedger, lockLedger, openLedger } from './ledger.ts'

type Db = Kysely<Tables>

export async function createProject(
  db: Db,
  { id, name, origin }: ChangeOf<'project.create'>,
): Promise<Outcome<ProjectRecord>> {
  const { time } = origin
  const inserted = await db
    .insertInto('project')
    .values({ id, name, create_time: time, update_time: time })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .returning('id')
    .executeTakeFirst()
  if (inserted === undefined) throw nameTaken()
  const head = await openLedger(db, id)
  await appendToBoth(db, head, origin, 'project.created', { name: { to: name } })
  return {
    result: { id, name, revision: head.revision, createTime: time, updateTime: time },
    changed: true,
  }
}

export async function renameProject(
  db: Db,
  { projectId, name, ifMatch, origin }: ChangeOf<'project.rename'>,
): Promise<Outcome<ProjectRecord>> {
  const { head, project } = await lockProject(db, projectId)
  requireMatch(ifMatch, projectEntityTag(project), 'project')
  if (project.name === name) return { result: project, changed: false }
  if (await isNameTaken(db, name)) throw nameTaken()
  const updateTime = latest(origin.time, project.updateTime)
  await db
    .updateTable('project')
    .set({ name, update_time: updateTime })
    .where('id', '=', projectId)
    .execute()
  await appendToBoth(db, head, origin, 'project.renamed', {
    name: { from: project.name, to: name },
  })
  return { result: { ...project, name, updateTime, revision: head.revision }, changed: true }
}

export async function deleteProject(
  db: Db,
  { projectId, ifMatch, origin }: ChangeOf<'project.delete'>,
): Promise<Outcome<undefined>> {
  const { head, project } = await lockProject(db, projectId)
  requireMatch(ifMatch, projectEntityTag(project), 'project')
  const key = await db
    .selectFrom('jwt_key')
    .select('id')
    .where('project_id', '=', projectId)
    .executeTakeFirst()
  if (key !== undefined) {
    throw new PubringError(
      'project_not_empty',
      'The project still has JWT keys. Deactivate and delete them first.',
    )
  }
  await db.deleteFrom('project').where('id', '=', projectId).execute()
  await appendToBoth(db, head, origin, 'project.deleted', { name: { from: project.name } })
  await deleteBoundApiKeys(db, projectId, origin)
  return { result: undefined, changed: true }
}

/** The project as it was before the change, under its lock; throws `project_not_found`. */
async function lockProject(
  db: Db,
  projectId: string,
): Promise<{ head: LockedLedger; project: ProjectRecord }> {
  const head = await lockLedger(db, projectId)
  const row = await db
    .selectFrom('project')
    .select(['id', 'name', 'create_time', 'update_time'])
    .where('id', '=', projectId)
    .executeTakeFirst()
  if (head === undefined || row === undefined) throw projectNotFound()
  const project = {
    id: row.id,
    name: row.name,
    revision: head.revision - 1,
    createTime: row.create_time,
    updateTime: row.update_time,
  }
  return { head, project }
}

/** Projects come and go in the system's ledger as well as in their own. */
async function appendToBoth(
  db: Db,
  head: LockedLedger,
  origin: Origin,
  type: EventType,
  changes: EventChanges,
): Promise<void> {
  const { time, actor, requestId } = origin
  const content = {
    type,
    time,
    actor,
    subject: { type: 'project', id: head.ledgerId },
    changes,
    requestId,
  } as const
  await appendEvent(db, head, content)
  const system = await lockLedger(db, systemLedgerId)
  if (system === undefined) throw new Error('the system ledger is missing')
  await appendEvent(db, system, content)
}

async function isNameTaken(db: Db, name: string): Promise<boolean> {
  const row = await db
    .selectFrom('project')
    .select('id')
    .where('name', '=', name)
    .executeTakeFirst()
  return row !== undefined
}

function nameTaken(): PubringError {
  return new PubringError(
    'project_name_taken',
    'There is already a project with this name. Choose another one.',
  )
}
