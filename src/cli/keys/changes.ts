import type { JwtKeyUpdate, JwtKeyWithDetails } from '../../../client/src/index.ts'
import type { ConfirmedFlags, ConnectionFlags } from '../connection/connection.ts'
import { type Session, withSession } from '../connection/session.ts'
import { confirm } from '../terminal/confirm.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { formatDuration, parseTimeOption } from '../terminal/times.ts'
import { keyNamed, kidOf } from './show.ts'

export async function renameKey(
  terminal: Terminal,
  given: string,
  label: string,
  flags: ConnectionFlags,
): Promise<void> {
  await change(
    terminal,
    given,
    { label },
    flags,
    (key) => `The key ${key.id} is called “${key.label}”.`,
  )
}

export async function activateKey(
  terminal: Terminal,
  given: string,
  flags: ConnectionFlags,
): Promise<void> {
  await change(terminal, given, { active: true }, flags, (key) => {
    return `“${key.label}” is switched on. ${converges(key)}`
  })
}

/** Switches a key off; the last active one of its project only where that is meant. */
export async function deactivateKey(
  terminal: Terminal,
  given: string,
  flags: ConfirmedFlags,
): Promise<void> {
  await withSession(terminal, flags, async (session) => {
    const { client, project } = session
    const keys = await client.keys.list(project)
    const key = keyNamed(keys, given, session)
    const active = keys.filter((one) => one.active)
    if (active.length === 1 && active[0]?.id === key.id) {
      await confirm(terminal, {
        statement: `“${key.label}” is the last active key of project ${project}: without it no token verifies.`,
        question: 'Switch it off?',
        yes: flags.yes,
        unattended: 'refuse',
      })
    }
    const changed = await client.keys.update(project, key.id, { active: false })
    session.print(changed, () => '')
    session.notify(`“${key.label}” is switched off. ${converges(changed)}`)
  })
}

export async function expireKey(
  terminal: Terminal,
  given: string,
  when: string,
  flags: ConnectionFlags,
): Promise<void> {
  const expireTime = when === 'never' ? null : parseTimeOption(when, 'The time')
  await change(terminal, given, { expireTime }, flags, (key) => {
    if (key.expireTime === undefined) return `“${key.label}” expires no more.`
    const wait = formatDuration(Date.parse(key.expireTime) - Date.now())
    return `“${key.label}” expires at ${key.expireTime} (in ${wait}).`
  })
}

async function change(
  terminal: Terminal,
  given: string,
  patch: JwtKeyUpdate,
  flags: ConnectionFlags,
  said: (key: JwtKeyWithDetails) => string,
): Promise<void> {
  await withSession(terminal, flags, async (session) => {
    const { client, project } = session
    const key = await client.keys.update(project, await kidOf(session, given), patch)
    session.print(key, () => '')
    session.notify(said(key))
  })
}

/** Deletes a key that is switched off; an active one is the server's to refuse. */
export async function deleteKey(
  terminal: Terminal,
  given: string,
  flags: ConfirmedFlags,
): Promise<void> {
  await withSession(terminal, flags, async (session) => {
    const { client, project } = session
    const key = await client.keys.get(project, await kidOf(session, given))
    if (!key.active) await confirmDeletion(session, key, flags.yes)
    await client.keys.delete(project, key.id)
    session.print({ deleted: key.id }, () => '')
    session.notify(`“${key.label}” (${key.id}) is deleted from project ${project}.`)
  })
}

async function confirmDeletion(
  { terminal, project }: Session,
  key: JwtKeyWithDetails,
  yes: boolean | undefined,
): Promise<void> {
  await confirm(terminal, {
    statement: `“${key.label}” (${key.id}) will be deleted from project ${project} for good.`,
    question: 'Delete it?',
    yes,
    unattended: 'proceed',
  })
}

/** When the last verifier that honours the cache headers knows the key's state. */
function converges({ details: { convergedTime } }: JwtKeyWithDetails): string {
  const wait = Date.parse(convergedTime) - Date.now()
  if (wait <= 0) return 'Every verifier that honours the cache headers knows it.'
  return `Verifiers that honour the cache headers know it within ${formatDuration(wait)}.`
}
