import type { JwtKeyUpdate, JwtKeyWithDetails } from '../../../client/src/index.ts'
import type { ConfirmedFlags, ConnectionFlags } from '../connection/connection.ts'
import { type Session, withSession } from '../connection/session.ts'
import { confirm } from '../terminal/confirm.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { formatDuration, parseTimeOption } from '../terminal/times.ts'
import { findKey, resolveKid } from './find.ts'

export async function renameKey(
  terminal: Terminal,
  kidOrName: string,
  label: string,
  flags: ConnectionFlags,
): Promise<void> {
  await withSession(terminal, flags, async (session) => {
    const key = await updateKey(session, await resolveKid(session, kidOrName), { label })
    session.notify(`Renamed key ${key.id} to “${key.label}”.`)
  })
}

export async function activateKey(
  terminal: Terminal,
  kidOrName: string,
  flags: ConnectionFlags,
): Promise<void> {
  await withSession(terminal, flags, async (session) => {
    const key = await updateKey(session, await resolveKid(session, kidOrName), { active: true })
    session.notify(`Activated “${key.label}”. ${convergence(key)}`)
  })
}

/** Deactivates a key; the last active one of its project only after a confirmation. */
export async function deactivateKey(
  terminal: Terminal,
  kidOrName: string,
  flags: ConfirmedFlags,
): Promise<void> {
  await withSession(terminal, flags, async (session) => {
    const { client, project } = session
    const keys = await client.keys.list(project)
    const { id, label } = findKey(session, keys, kidOrName)
    const active = keys.filter((key) => key.active)
    if (active.length === 1 && active[0]?.id === id) {
      await confirm(terminal, {
        statement: `“${label}” is the last active key of project ${project}: without it no token verifies.`,
        question: 'Deactivate it?',
        yes: flags.yes,
        unattended: 'refuse',
      })
    }
    const key = await updateKey(session, id, { active: false })
    session.notify(`Deactivated “${key.label}”. ${convergence(key)}`)
  })
}

export async function expireKey(
  terminal: Terminal,
  kidOrName: string,
  when: string,
  flags: ConnectionFlags,
): Promise<void> {
  const expireTime = when === 'never' ? null : parseTimeOption(when, 'The time')
  await withSession(terminal, flags, async (session) => {
    const key = await updateKey(session, await resolveKid(session, kidOrName), { expireTime })
    if (key.expireTime === undefined) session.notify(`“${key.label}” no longer expires.`)
    else {
      const wait = formatDuration(Date.parse(key.expireTime) - Date.now())
      session.notify(`“${key.label}” expires at ${key.expireTime} (in ${wait}).`)
    }
  })
}

async function updateKey(
  { client, project, print }: Session,
  kid: string,
  patch: JwtKeyUpdate,
): Promise<JwtKeyWithDetails> {
  const key = await client.keys.update(project, kid, patch)
  print(key, () => '')
  return key
}

/** Deletes an inactive key; the server rejects the deletion of an active one. */
export async function deleteKey(
  terminal: Terminal,
  kidOrName: string,
  flags: ConfirmedFlags,
): Promise<void> {
  await withSession(terminal, flags, async (session) => {
    const { client, project } = session
    const key = await client.keys.get(project, await resolveKid(session, kidOrName))
    if (!key.active) {
      await confirm(terminal, {
        statement: `“${key.label}” (${key.id}) will be permanently deleted from project ${project}.`,
        question: 'Delete it?',
        yes: flags.yes,
        unattended: 'proceed',
      })
    }
    await client.keys.delete(project, key.id)
    session.print({ deleted: key.id }, () => '')
    session.notify(`Deleted “${key.label}” (${key.id}) from project ${project}.`)
  })
}

/** When the last verifier that honors the cache headers knows the key's state. */
function convergence({ details: { convergedTime } }: JwtKeyWithDetails): string {
  const wait = Date.parse(convergedTime) - Date.now()
  if (wait <= 0) return 'Every verifier that honors the cache headers knows it.'
  return `Verifiers that honor the cache headers know it within ${formatDuration(wait)}.`
}
