import type { Kysely } from 'kysely'
import type { JwsAlgorithm } from '../../contract/algorithms.ts'
import type { AdmissionKey } from '../../core/keys/admission.ts'
import type { Tables } from '../schema.ts'
import { statement } from '../statements.ts'

const selectKeysForAdmission = statement((db, { projectId }: { projectId: string }) =>
  db
    .selectFrom('project')
    .leftJoin('jwt_key', 'jwt_key.project_id', 'project.id')
    .select([
      'jwt_key.id',
      'jwt_key.jwk',
      'jwt_key.jws_algorithm',
      'jwt_key.enabled',
      'jwt_key.expire_time',
      'jwt_key.thumbprint',
      'jwt_key.material_sha256',
    ])
    .where('project.id', '=', projectId)
    .orderBy('jwt_key.create_time')
    .orderBy('jwt_key.id'),
)

/**
 * The keys of a project, oldest first, as far as a new one is compared with them; undefined where
 * there is no such project.
 */
export async function readKeysForAdmission(
  db: Kysely<Tables>,
  projectId: string,
): Promise<AdmissionKey[] | undefined> {
  const rows = await selectKeysForAdmission(db, { projectId })
  if (rows.length === 0) return undefined
  return rows.flatMap((row) => (isKey(row) ? [admissionKey(row)] : []))
}

type Row = Pick<
  Tables['jwt_key'],
  'id' | 'jwk' | 'jws_algorithm' | 'enabled' | 'expire_time' | 'thumbprint' | 'material_sha256'
>

/** A left join yields one row of nulls for a project without keys. */
function isKey<Joined extends { id: string | null }>(row: Joined): row is Joined & Row {
  return row.id !== null
}

function admissionKey(row: Row): AdmissionKey {
  return {
    id: row.id,
    jwkText: row.jwk,
    jwsAlgorithm: row.jws_algorithm as JwsAlgorithm,
    enabled: row.enabled === 1,
    ...(row.expire_time === null ? {} : { expireTime: row.expire_time }),
    thumbprint: row.thumbprint,
    materialSha256: row.material_sha256,
  }
}
