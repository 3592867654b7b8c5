import type { JwsAlgorithm } from '../../contract/algorithms.ts'
import type { AdmissionKey } from '../../core/keys/admission.ts'
import { hasKey } from '../row-mapping.ts'
import type { Db } from '../schema.ts'
import { statement } from '../statements.ts'

const selectKeysForAdmission = statement((db, { projectId }: { projectId: string }) =>
  db
    .selectFrom('project')
    .leftJoin('jwt_key', 'jwt_key.project_id', 'project.id')
    .select([
      'jwt_key.id',
      'jwt_key.published_kid',
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
 * The keys that a new key is checked against, oldest first; only the columns which that needs.
 * Undefined if there is no such project.
 */
export async function readKeysForAdmission(
  db: Db,
  projectId: string,
): Promise<AdmissionKey[] | undefined> {
  const rows = await selectKeysForAdmission(db, { projectId })
  if (rows.length === 0) return undefined
  return rows.filter(hasKey).map((row) => ({
    id: row.id,
    ...(row.published_kid === null ? {} : { publishedKid: row.published_kid }),
    jwkText: row.jwk,
    jwsAlgorithm: row.jws_algorithm as JwsAlgorithm,
    enabled: row.enabled === 1,
    ...(row.expire_time === null ? {} : { expireTime: row.expire_time }),
    thumbprint: row.thumbprint,
    materialSha256: row.material_sha256,
  }))
}
