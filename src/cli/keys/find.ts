import type { JwtKey } from '../../../client/src/index.ts'
import { parseId } from '../../core/ids.ts'
import { pickOne } from '../connection/pick.ts'
import type { Session } from '../connection/session.ts'

/** The kid itself, or the kid of the only key with that name. */
export async function resolveKid(session: Session, kidOrName: string): Promise<string> {
  const kid = parseId(kidOrName)
  if (kid !== undefined) return kid
  return findKey(session, await session.client.keys.list(session.project), kidOrName).id
}

/** The key with that kid or name. Throws if there is none, or several. */
export function findKey({ project }: Session, keys: readonly JwtKey[], kidOrName: string): JwtKey {
  return pickOne(keys, kidOrName, {
    plural: 'keys',
    idName: 'kid',
    nameOf: ({ label }) => label,
    describe: ({ id }) => id,
    missing: `Project ${project} has no key`,
    code: 'key_not_found',
    listHint: 'pubring key list shows the keys of the project.',
  })
}
