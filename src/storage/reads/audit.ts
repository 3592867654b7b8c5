import type { ExpressionBuilder } from 'kysely'
import type { AuditReads, AuditScope } from '../../core/audit/records.ts'
import { keyColumns, keyFromRow } from '../row-mapping.ts'
import type { Db, Tables } from '../schema.ts'

/** The queries of an audit, on any engine. Each is one statement, and so reads one snapshot. */
export function createAuditReads(db: Db): AuditReads {
  return {
    async auditedKeys(scope, { after, limit }) {
      const all = keysInScope(db, scope)
      const remaining =
        after === undefined
          ? all
          : all.where(({ eb, refTuple, tuple }) =>
              eb(
                refTuple('jwt_key.project_id', 'jwt_key.id'),
                '>',
                tuple(after.projectId, after.kid),
              ),
            )
      const rows = await remaining
        .innerJoin('project', 'project.id', 'jwt_key.project_id')
        .select(keyColumns)
        .select('project.name as project_name')
        .select((select) => countBlocked(select).as('blocked_count'))
        .orderBy('jwt_key.project_id')
        .orderBy('jwt_key.id')
        .limit(limit)
        .execute()
      return rows.map(({ project_name, blocked_count, ...row }) => ({
        key: keyFromRow(row),
        projectName: project_name,
        wasExposed: Number(blocked_count) > 0,
      }))
    },
    async countAuditedKeys(scope) {
      const row = await keysInScope(db, scope)
        .select((select) => select.fn.countAll<number | string>().as('count'))
        .executeTakeFirstOrThrow()
      return Number(row.count)
    },
  }
}

function keysInScope(db: Db, { projectId, withoutPassOf }: AuditScope) {
  const all = db.selectFrom('jwt_key')
  const scope = projectId === undefined ? all : all.where('jwt_key.project_id', '=', projectId)
  if (withoutPassOf === undefined) return scope
  return scope.where(({ exists, not, selectFrom }) =>
    not(
      exists(
        selectFrom('key_audit')
          .select('key_audit.key_id')
          .whereRef('key_audit.project_id', '=', 'jwt_key.project_id')
          .whereRef('key_audit.key_id', '=', 'jwt_key.id')
          .where('key_audit.passed_rules', '=', withoutPassOf),
      ),
    ),
  )
}

/** The number of the key's fingerprints that are blocked. */
function countBlocked({ selectFrom }: ExpressionBuilder<Tables, 'jwt_key'>) {
  return selectFrom('blocked_fingerprint')
    .select((select) => select.fn.countAll<number | string>().as('count'))
    .where(({ eb, or }) =>
      or([
        eb('blocked_fingerprint.fingerprint', '=', eb.ref('jwt_key.thumbprint')),
        eb('blocked_fingerprint.fingerprint', '=', eb.ref('jwt_key.material_sha256')),
      ]),
    )
}
