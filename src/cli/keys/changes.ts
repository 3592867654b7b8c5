import type {
  DescendantsDecision,
  JwtKeyUpdate,
  JwtKeyUpdated,
  JwtKeyWithDetails,
} from '../../../client/src/index.ts'
import type { Session } from '../connection/session.ts'
import { confirm, type YesFlag } from '../terminal/confirm.ts'
import { usageError } from '../terminal/failures.ts'
import { formatDuration, formatRelative, parseTimeOption } from '../terminal/times.ts'
import { forEachKid, resolveKids, withKid } from './find.ts'
import { confirmLastActive, withPatches } from './last-active.ts'

export async function renameKey(session: Session, ref: string, label: string): Promise<void> {
  await updateKeys(session, [ref], { label }, (key) => `Renamed key ${key.id} to “${key.label}”.`)
}

/** With `--expires`, also an expired key. */
export async function activateKeys(
  session: Session,
  refs: readonly string[],
  { expires }: { expires?: string },
): Promise<void> {
  const expiry = expires === undefined ? {} : { expireTime: parseExpiry(expires, '--expires') }
  await updateKeys(session, refs, { active: true, ...expiry }, (key) => {
    return `Activated “${key.label}”. ${convergence(key)}`
  })
}

/** Flags of commands that can deactivate the keys that a key vouched for. */
export interface DescendantsFlag {
  descendants?: 'true' | 'false'
}

export function decisionOf({ descendants }: DescendantsFlag): DescendantsDecision {
  return descendants === undefined ? {} : { descendants: descendants === 'true' }
}

/** The last active key of a project is changed only after a confirmation. */
export async function deactivateKeys(
  session: Session,
  refs: readonly string[],
  flags: YesFlag & DescendantsFlag,
): Promise<void> {
  const report = (key: JwtKeyUpdated) => `Deactivated “${key.label}”. ${convergence(key)}`
  await updateKeys(session, refs, { active: false }, report, flags)
}

/** The last of the arguments is the time. */
export async function expireKeys(
  session: Session,
  args: readonly string[],
  flags: YesFlag,
): Promise<void> {
  const when = args.at(-1) ?? ''
  if (args.length < 2) throw usageError('Name a key and a time: 90d, 2027-01-31 or never.')
  const expireTime = parseExpiry(when, 'The time')
  const report = (key: JwtKeyUpdated) =>
    key.expireTime === undefined
      ? `“${key.label}” no longer expires.`
      : `“${key.label}” expires at ${key.expireTime} (${formatRelative(key.expireTime)}).`
  await updateKeys(session, args.slice(0, -1), { expireTime }, report, flags)
}

function parseExpiry(when: string, option: string): string | null {
  return when === 'never' ? null : parseTimeOption(when, option)
}

/** With `flags`, a change that leaves the project without an active key is confirmed first. */
async function updateKeys(
  session: Session,
  refs: readonly string[],
  patch: JwtKeyUpdate,
  report: (key: JwtKeyUpdated) => string,
  flags?: YesFlag & DescendantsFlag,
): Promise<void> {
  const { client, project, notify } = session
  const kids = await resolveKids(session, refs)
  if (flags !== undefined) {
    const before = await client.keys.list(project)
    const after = withPatches(before, new Map(kids.map((kid) => [kid, patch])))
    await confirmLastActive(session, { before, after }, flags)
  }
  await forEachKid(session, kids, async (kid) => {
    const key = await client.keys.update(project, kid, patch, decisionOf(flags ?? {}))
    for (const { detail } of key.warnings ?? []) notify(`Warning: ${detail}`)
    notify(report(key))
    return withKid(key)
  })
}

/** Deletes inactive keys; the server rejects the deletion of an active one. */
export async function deleteKeys(
  session: Session,
  refs: readonly string[],
  flags: YesFlag & DescendantsFlag,
): Promise<void> {
  const { client, project, terminal } = session
  const keys: JwtKeyWithDetails[] = []
  for (const kid of await resolveKids(session, refs)) keys.push(await client.keys.get(project, kid))
  if (!keys.some(({ active }) => active)) {
    const names = keys.map(({ label, id }) => `“${label}” (${id})`)
    await confirm(terminal, flags, {
      statement: `${names.join(', ')} will be permanently deleted from project ${project}.`,
      question: `Delete ${keys.length === 1 ? 'it' : 'them'}?`,
    })
  }
  // An active one first, so that nothing is deleted if the server rejects that.
  const inOrder = keys.toSorted((one, other) => Number(other.active) - Number(one.active))
  const kids = inOrder.map(({ id }) => id)
  await forEachKid(session, kids, async (kid) => {
    await client.keys.delete(project, kid, decisionOf(flags))
    const label = keys.find(({ id }) => id === kid)?.label
    session.notify(`Deleted “${label}” (${kid}) from project ${project}.`)
    return { deleted: kid }
  })
}

/** When the last verifier that honors the cache headers knows the key's state. */
function convergence({ details: { convergedTime } }: JwtKeyWithDetails): string {
  const wait = Date.parse(convergedTime) - Date.now()
  if (wait <= 0) return 'Every verifier that honors the cache headers knows it.'
  return `Verifiers that honor the cache headers know it within ${formatDuration(wait)}.`
}
