import type { JwtKeyUpdate, JwtKeyUpdated, JwtKeyWithDetails } from '@pubring/client'
import { present } from '@pubring/server/runtime/present'
import { projectCommandLine } from '../connection/command-lines.ts'
import type { Session } from '../connection/session.ts'
import { confirm, type YesFlag } from '../terminal/confirm.ts'
import { usageError } from '../terminal/failures.ts'
import { formatDuration, formatRelative, parseExpiry } from '../terminal/times.ts'
import { forEachKid, getKeys, resolveKids, withKid } from './find.ts'
import { confirmLastActive, withPatches } from './last-active.ts'
import { confirmUses } from './uses.ts'

export async function renameKey(session: Session, ref: string, label: string): Promise<void> {
  await updateKeys(session, [ref], { label }, (key) => `Renamed key ${key.id} to “${key.label}”.`)
}

/** Activates keys; with `--expires`, also expired ones. */
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

/**
 * The last active key of a project is changed only after a confirmation. With `--with-vouched`, the
 * keys that they vouched for come first: each is a change of its own.
 */
export async function deactivateKeys(
  session: Session,
  refs: readonly string[],
  flags: YesFlag & Pick<JwtKeyUpdate, 'reason'> & { withVouched?: true },
): Promise<void> {
  const kids = await resolveKids(session, refs)
  const all = flags.withVouched === true ? await withVouched(session, kids) : kids
  const before = await session.client.keys.list(session.project)
  await confirmUses(
    session,
    before.filter(({ id, active }) => active && all.includes(id)),
    flags,
  )
  const done = new Set<string>()
  const report = (key: JwtKeyUpdated) => {
    done.add(key.id)
    return `Deactivated “${key.label}”. ${convergence(key)}`
  }
  try {
    const patch = { active: false, ...present({ reason: flags.reason }) }
    await updateKeys(session, all, patch, report, flags)
    const verifiers = projectCommandLine(session, 'key-uses verifiers')
    session.notify(`Who has fetched the key set since: ${verifiers}`)
  } catch (error) {
    const left = all.filter((kid) => !done.has(kid))
    if (done.size > 0) session.notify(`Not deactivated: ${left.join(', ')}. Run the command again.`)
    throw error
  }
}

/** The active keys that these vouched for, directly or through others, the last ones first; then these. */
async function withVouched(session: Session, kids: readonly string[]): Promise<string[]> {
  const { client, project } = session
  const listed = await client.keys.list(project)
  const keys = await Array.fromAsync(listed, ({ id }) => client.keys.get(project, id))
  // A set keeps the order in which the keys are found: each after the key that vouched for it.
  const found = new Set(kids)
  for (const kid of found) {
    for (const { id, details } of keys) if (details.introducedBy === kid) found.add(id)
  }
  const active = new Set(keys.filter((key) => key.active).map(({ id }) => id))
  const vouched = [...found].filter((kid) => !kids.includes(kid) && active.has(kid))
  return [...vouched.reverse(), ...kids]
}

/** The last of the arguments is the time. */
export async function expireKeys(
  session: Session,
  args: readonly string[],
  flags: YesFlag,
): Promise<void> {
  const when = args.at(-1) ?? ''
  if (args.length < 2) throw usageError('Name a key and a time: 90d, 2027-01-31 or never.')
  const expireTime = parseExpiry(when, 'The expiry')
  const report = (key: JwtKeyUpdated) =>
    key.expireTime === undefined
      ? `“${key.label}” no longer expires.`
      : `“${key.label}” expires at ${key.expireTime} (${formatRelative(key.expireTime)}).`
  await updateKeys(session, args.slice(0, -1), { expireTime }, report, flags)
}

/** With `flags`, a change that leaves the project without an active key is confirmed first. */
async function updateKeys(
  session: Session,
  refs: readonly string[],
  patch: JwtKeyUpdate,
  report: (key: JwtKeyUpdated) => string,
  flags?: YesFlag,
): Promise<void> {
  const { client, project, notify } = session
  const kids = await resolveKids(session, refs)
  if (flags !== undefined) {
    const before = await client.keys.list(project)
    const after = withPatches(before, new Map(kids.map((kid) => [kid, patch])))
    await confirmLastActive(session, { before, after }, flags)
  }
  await forEachKid(session, kids, async (kid) => {
    const key = await client.keys.update(project, kid, patch)
    for (const { detail } of key.warnings ?? []) notify(`Warning: ${detail}`)
    notify(report(key))
    return withKid(key)
  })
}

/** Deletes inactive keys; the server rejects the deletion of an active one. */
export async function deleteKeys(
  session: Session,
  refs: readonly string[],
  flags: YesFlag,
): Promise<void> {
  const { client, project, terminal } = session
  const keys = await getKeys(session, refs)
  if (!keys.some(({ active }) => active)) {
    await confirmUses(session, keys, flags)
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
    await client.keys.delete(project, kid)
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
