import type { ExpressionBuilder, Kysely } from 'kysely'
import type { AuditReads, AuditScope } from '../../core/audit/records.ts'
import { keyColumns, keyFromRow } from '../row-mapping.ts'
import type { Tables } from '../schema.ts'

/** What an audit reads, on any engine; each is one statement, hence one snapshot. */
export function createAuditReads(db: Kysely<Tables>): AuditReads {
  return {
    async auditedKeys(scope, { after, limit }) {
      const all = audited(db, scope)
      const rest =
        after === undefined
          ? all
          : all.where(({ eb, refTuple, tuple }) =>
              eb(
                refTuple('jwt_key.project_id', 'jwt_key.id'),
                '>',
                tuple(after.projectId, after.kid),
              ),
            )
      const rows = await rest
        .innerJoin('project', 'project.id', 'jwt_key.project_id')
        .select(keyColumns)
        .select('project.name as project_name')
        .select((select) => exposure(select).as('exposed'))
        .orderBy('jwt_key.project_id')
        .orderBy('jwt_key.id')
        .limit(limit)
        .execute()
      return rows.map(({ project_name, exposed, ...row }) => ({
        key: keyFromRow(row),
        projectName: project_name,
        wasExposed: Number(exposed) > 0,
      }))
    },
    async countAuditedKeys(scope) {
      const row = await audited(db, scope)
        .select((select) => select.fn.countAll<number | string>().as('count'))
        .executeTakeFirstOrThrow()
      return Number(row.count)
    },
  }
}

function audited(db: Kysely<Tables>, { projectId, withoutPassOf }: AuditScope) {
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

/** How many fingerprints of the key are those of a private key that was submitted. */
function exposure({ selectFrom }: ExpressionBuilder<Tables, 'jwt_key'>) {
  return selectFrom('blocked_fingerprint')
    .select((select) => select.fn.countAll<number | string>().as('count'))
    .where(({ eb, or }) =>
      or([
        eb('blocked_fingerprint.fingerprint', '=', eb.ref('jwt_key.thumbprint')),
        eb('blocked_fingerprint.fingerprint', '=', eb.ref('jwt_key.material_sha256')),
      ]),
    )
}
