import type {
  DescendantsDecision,
  JwtKeyUpdate,
  JwtKeyUpdated,
  JwtKeyWithDetails,
} from '../../../client/src/index.ts'
import type { Session } from '../connection/session.ts'
import { confirm, type YesFlag } from '../terminal/confirm.ts'
import { formatDuration, formatRelative, parseTimeOption } from '../terminal/times.ts'
import { findKey, resolveKid } from './find.ts'
import { confirmPatch } from './last-active.ts'

export async function renameKey(session: Session, ref: string, label: string): Promise<void> {
  const key = await updateKey(session, ref, { label })
  session.notify(`Renamed key ${key.id} to “${key.label}”.`)
}

export async function activateKey(session: Session, ref: string): Promise<void> {
  const key = await updateKey(session, ref, { active: true })
  session.notify(`Activated “${key.label}”. ${convergence(key)}`)
}

/** Flags of commands that can deactivate the keys that a key vouched for. */
export interface DescendantsFlag {
  descendants?: 'true' | 'false'
}

export function decisionOf({ descendants }: DescendantsFlag): DescendantsDecision {
  return descendants === undefined ? {} : { descendants: descendants === 'true' }
}

/** The last active key of a project is changed only after a confirmation. */
export async function deactivateKey(
  session: Session,
  ref: string,
  flags: YesFlag & DescendantsFlag,
): Promise<void> {
  const key = await updateGuarded(session, ref, { active: false }, flags)
  session.notify(`Deactivated “${key.label}”. ${convergence(key)}`)
}

export async function expireKey(
  session: Session,
  ref: string,
  when: string,
  flags: YesFlag,
): Promise<void> {
  const expireTime = when === 'never' ? null : parseTimeOption(when, 'The time')
  const key = await updateGuarded(session, ref, { expireTime }, flags)
  session.notify(
    key.expireTime === undefined
      ? `“${key.label}” no longer expires.`
      : `“${key.label}” expires at ${key.expireTime} (${formatRelative(key.expireTime)}).`,
  )
}

async function updateGuarded(
  session: Session,
  ref: string,
  patch: JwtKeyUpdate,
  flags: YesFlag & DescendantsFlag,
): Promise<JwtKeyUpdated> {
  const keys = await session.client.keys.list(session.project)
  const { id: kid } = findKey(session, keys, ref)
  await confirmPatch(session, keys, [kid, patch], flags)
  return updateKey(session, kid, patch, decisionOf(flags))
}

async function updateKey(
  session: Session,
  ref: string,
  patch: JwtKeyUpdate,
  decision: DescendantsDecision = {},
): Promise<JwtKeyUpdated> {
  const kid = await resolveKid(session, ref)
  const key = await session.client.keys.update(session.project, kid, patch, decision)
  session.print(key)
  for (const { detail } of key.warnings ?? []) session.notify(`Warning: ${detail}`)
  return key
}

/** Deletes an inactive key; the server rejects the deletion of an active one. */
export async function deleteKey(
  session: Session,
  ref: string,
  flags: YesFlag & DescendantsFlag,
): Promise<void> {
  const { client, project, terminal } = session
  const key = await client.keys.get(project, await resolveKid(session, ref))
  if (!key.active) {
    await confirm(terminal, flags, {
      statement: `“${key.label}” (${key.id}) will be permanently deleted from project ${project}.`,
      question: 'Delete it?',
      unattended: 'proceed',
    })
  }
  await client.keys.delete(project, key.id, decisionOf(flags))
  session.print({ deleted: key.id })
  session.notify(`Deleted “${key.label}” (${key.id}) from project ${project}.`)
}

/** When the last verifier that honors the cache headers knows the key's state. */
function convergence({ details: { convergedTime } }: JwtKeyWithDetails): string {
  const wait = Date.parse(convergedTime) - Date.now()
  if (wait <= 0) return 'Every verifier that honors the cache headers knows it.'
  return `Verifiers that honor the cache headers know it within ${formatDuration(wait)}.`
}
