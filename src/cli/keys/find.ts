import { type JwtKey, PubringError } from '../../../client/src/index.ts'
import { parseId } from '../../core/ids.ts'
import { pickOne } from '../connection/pick.ts'
import type { Session } from '../connection/session.ts'

/** The id itself, or the id of the key with that published kid or, if there is only one, that name. */
export async function resolveKid(session: Session, kidOrName: string): Promise<string> {
  const kid = parseId(kidOrName)
  if (kid !== undefined) return kid
  const { client, project } = session
  const keys = await client.keys.list(project)
  if (keys.some(({ label }) => label === kidOrName)) return findKey(session, keys, kidOrName).id
  try {
    return (await client.keys.get(project, kidOrName)).id
  } catch (error) {
    if (!(error instanceof PubringError) || error.code !== 'key_not_found') throw error
    return findKey(session, keys, kidOrName).id
  }
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
