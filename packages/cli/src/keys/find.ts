import type { JwtKey, JwtKeyWithDetails } from '@pubring/client'
import { parseId } from '@pubring/server/kernel/values/ids'
import { projectCommandLine } from '../connection/command-lines.ts'
import { pickOne } from '../connection/pick.ts'
import { type Session, unless } from '../connection/session.ts'

/**
 * The ids of the keys that are named by id, unique end of an id, published kid or unique label;
 * each once.
 */
export async function resolveKids(session: Session, refs: readonly string[]): Promise<string[]> {
  const ids = refs.map(parseId)
  const keys = ids.includes(undefined) ? await session.client.keys.list(session.project) : []
  const resolve = (ref: string, index: number) => ids[index] ?? resolveKid(session, keys, ref)
  return [...new Set(await Array.fromAsync(refs, resolve))]
}

export async function getKeys(
  session: Session,
  refs: readonly string[],
): Promise<JwtKeyWithDetails[]> {
  const { client, project } = session
  const kids = await resolveKids(session, refs)
  return Array.fromAsync(kids, (kid) => client.keys.get(project, kid))
}

async function resolveKid(session: Session, keys: readonly JwtKey[], ref: string): Promise<string> {
  if (keys.some(({ label }) => label === ref)) return findKey(session, keys, ref).id
  // Lists do not show published kids.
  const published = await unless('key_not_found', session.client.keys.get(session.project, ref))
  return (published ?? findKey(session, keys, ref)).id
}

/** The key with that kid, end of a kid or label. Throws if there is none, or several. */
export function findKey(session: Session, keys: readonly JwtKey[], ref: string): JwtKey {
  return pickOne(keys, ref, {
    list: projectCommandLine(session, 'key list'),
    noun: 'key',
    idName: 'kid',
    missing: `Project ${session.project} has no key`,
    nameOf: ({ label }) => label,
    describe: (key) => `${key.label} (${key.active ? 'active' : 'inactive'})`,
  })
}

/** The key as documents show it, with its id under both names. */
export function withKid<Key extends { id: string }>(key: Key): Key & { kid: string } {
  return { kid: key.id, ...key }
}

/**
 * Runs the command for each key in turn, and prints the result of one, or a list of several; after an
 * error, that of the keys before it.
 */
export async function forEachKid(
  session: Session,
  kids: readonly string[],
  run: (kid: string) => Promise<object>,
): Promise<void> {
  const results: object[] = []
  try {
    for (const kid of kids) {
      session.kid = kid
      results.push(await run(kid))
    }
  } finally {
    if (results.length > 0) session.print(kids.length === 1 ? results[0] : results)
  }
}
