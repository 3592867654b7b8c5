import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../kernel/storage/schema.ts'
import { keyColumns, keyFromRow } from '../keys/stored.ts'
import type { AuditedKey, AuditPage, AuditScope } from './records.ts'

/** Whether the private half of the key was submitted. */
const wasExposed = sql<number>`(case when exists (select 1 from blocked_fingerprint
  where fingerprint in (jwt_key.thumbprint, jwt_key.material_sha256)) then 1 else 0 end)`

/** A page in order of project and key. */
export async function readAuditedKeys(
  db: Db,
  scope: AuditScope,
  { after, limit }: AuditPage,
): Promise<AuditedKey[]> {
  const all = keysInScope(db, scope)
  const isLater = sql<boolean>`(jwt_key.project_id, jwt_key.id) > (${after?.projectId}, ${after?.kid})`
  const rows = await (after === undefined ? all : all.where(isLater))
    .innerJoin('project', 'project.id', 'jwt_key.project_id')
    .select([...keyColumns, 'project.name as project_name', wasExposed.as('was_exposed')])
    .orderBy('jwt_key.project_id')
    .orderBy('jwt_key.id')
    .limit(limit)
    .execute()
  return rows.map(({ project_name: projectName, was_exposed, ...row }) => {
    return { key: keyFromRow(row), projectName, wasExposed: was_exposed === 1 }
  })
}

export async function countAuditedKeys(db: Db, scope: AuditScope): Promise<number> {
  const row = await keysInScope(db, scope)
    .select((select) => select.fn.countAll<number | string>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

function keysInScope(db: Db, { projectId, withoutPassOf }: AuditScope) {
  const all = db.selectFrom('jwt_key')
  const scope = projectId === undefined ? all : all.where('jwt_key.project_id', '=', projectId)
  return withoutPassOf === undefined ? scope : scope.where(hasNotPassed(withoutPassOf))
}

function hasNotPassed(rules: string): RawBuilder<boolean> {
  return sql`not exists (select 1 from passed_key
    where passed_key.project_id = jwt_key.project_id and passed_key.key_id = jwt_key.id
      and passed_key.rules = ${rules})`
}
