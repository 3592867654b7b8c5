import type { JwtKeyUpdate, JwtKeyWithDetails } from '../../../client/src/index.ts'
import type { Session } from '../connection/session.ts'
import { confirm } from '../terminal/confirm.ts'
import { formatDuration, formatRelative, parseTimeOption } from '../terminal/times.ts'
import { findKey, resolveKid } from './find.ts'

export async function renameKey(session: Session, ref: string, label: string): Promise<void> {
  const key = await updateKey(session, ref, { label })
  session.notify(`Renamed key ${key.id} to “${key.label}”.`)
}

export async function activateKey(session: Session, ref: string): Promise<void> {
  const key = await updateKey(session, ref, { active: true })
  session.notify(`Activated “${key.label}”. ${convergence(key)}`)
}

/** Deactivates a key; the last active one of its project only after a confirmation. */
export async function deactivateKey(
  session: Session,
  ref: string,
  { yes }: { yes?: true },
): Promise<void> {
  const { client, project, terminal } = session
  const keys = await client.keys.list(project)
  const { id, label } = findKey(session, keys, ref)
  const isLastActive = keys.every((key) => key.active === (key.id === id))
  if (isLastActive) {
    await confirm(terminal, {
      statement: `“${label}” is the last active key of project ${project}: without it no token verifies.`,
      question: 'Deactivate it?',
      yes,
      unattended: 'refuse',
    })
  }
  const key = await updateKey(session, id, { active: false })
  session.notify(`Deactivated “${key.label}”. ${convergence(key)}`)
}

export async function expireKey(session: Session, ref: string, when: string): Promise<void> {
  const expireTime = when === 'never' ? null : parseTimeOption(when, 'The time')
  const key = await updateKey(session, ref, { expireTime })
  session.notify(
    key.expireTime === undefined
      ? `“${key.label}” no longer expires.`
      : `“${key.label}” expires at ${key.expireTime} (${formatRelative(key.expireTime)}).`,
  )
}

async function updateKey(
  session: Session,
  ref: string,
  patch: JwtKeyUpdate,
): Promise<JwtKeyWithDetails> {
  const kid = await resolveKid(session, ref)
  const key = await session.client.keys.update(session.project, kid, patch)
  session.print(key)
  return key
}

/** Deletes an inactive key; the server rejects the deletion of an active one. */
export async function deleteKey(
  session: Session,
  ref: string,
  { yes }: { yes?: true },
): Promise<void> {
  const { client, project, terminal } = session
  const key = await client.keys.get(project, await resolveKid(session, ref))
  if (!key.active) {
    await confirm(terminal, {
      statement: `“${key.label}” (${key.id}) will be permanently deleted from project ${project}.`,
      question: 'Delete it?',
      yes,
      unattended: 'proceed',
    })
  }
  await client.keys.delete(project, key.id)
  session.print({ deleted: key.id })
  session.notify(`Deleted “${key.label}” (${key.id}) from project ${project}.`)
}

/** When the last verifier that honors the cache headers knows the key's state. */
function convergence({ details: { convergedTime } }: JwtKeyWithDetails): string {
  const wait = Date.parse(convergedTime) - Date.now()
  if (wait <= 0) return 'Every verifier that honors the cache headers knows it.'
  return `Verifiers that honor the cache headers know it within ${formatDuration(wait)}.`
}
