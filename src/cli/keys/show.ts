import type { JwtKey, JwtKeyWithDetails } from '../../../client/src/index.ts'
import { parseId } from '../../core/ids.ts'
import type { ConnectionFlags } from '../connection/connection.ts'
import { pickOne } from '../connection/pick.ts'
import { type Session, withSession } from '../connection/session.ts'
import { type Column, formatMembers, formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { formatRelative, formatTime } from '../terminal/times.ts'

/** Lists the keys of the project: on a terminal as a table, in a pipe as values with tabs. */
export async function listKeys(
  terminal: Terminal,
  flags: ConnectionFlags & { active?: true },
): Promise<void> {
  await withSession(terminal, flags, async (session) => {
    const { client, project } = session
    const keys = await client.keys.list(project, flags.active === true ? { active: true } : {})
    session.print(keys, () => formatTable(terminal, columns, keys))
    if (keys.length === 0) {
      const which = flags.active === true ? 'active keys' : 'keys'
      session.notify(`Project ${project} has no ${which}. pubring key add registers one.`)
    }
  })
}

const columns: readonly Column<JwtKey>[] = [
  { heading: 'KID', value: ({ id }) => id },
  { heading: 'NAME', value: ({ label }) => label, truncate: true },
  { heading: 'ALGORITHM', value: ({ algorithm }) => algorithm },
  { heading: 'STATE', value: stateOf },
  {
    heading: 'CREATED',
    value: ({ createTime }) => createTime,
    display: (key) => formatRelative(key.createTime),
  },
  {
    heading: 'EXPIRES',
    value: ({ expireTime = '' }) => expireTime,
    display: ({ expireTime }) => (expireTime === undefined ? '' : formatRelative(expireTime)),
  },
]

function stateOf({ active, expireTime }: JwtKey): string {
  if (active) return 'active'
  return expireTime !== undefined && Date.parse(expireTime) <= Date.now() ? 'expired' : 'inactive'
}

export async function showKey(
  terminal: Terminal,
  given: string,
  flags: ConnectionFlags & { pem?: true },
): Promise<void> {
  await withSession(terminal, flags, async (session) => {
    const { client, project } = session
    const key = await client.keys.get(project, await kidOf(session, given))
    if (flags.pem === true)
      session.print({ publicKeyPem: key.publicKeyPem }, () => key.publicKeyPem)
    else session.print(key, () => detailsOf(terminal, key))
  })
}

function detailsOf(terminal: Terminal, key: JwtKeyWithDetails): string {
  const { details, expireTime } = key
  const size = details.crv ?? (details.bits === undefined ? '' : `${details.bits} bits`)
  const members: [string, string | undefined][] = [
    ['kid', key.id],
    ['name', key.label],
    ['project', key.projectId],
    ['state', stateOf(key)],
    ['algorithm', key.algorithm],
    ['key', `${details.kty} ${size}`.trim()],
    ['thumbprint', details.thumbprint],
    ['SPKI SHA-256', details.spkiSha256],
    ['created', formatTime(key.createTime, terminal)],
    ['updated', formatTime(key.updateTime, terminal)],
    ['expires', expireTime === undefined ? undefined : formatTime(expireTime, terminal)],
    ['known to all from', formatTime(details.convergedTime, terminal)],
  ]
  return formatMembers(terminal, members)
}

/** The kid of the key with that kid, or of the only one with that name. */
export async function kidOf(session: Session, ref: string): Promise<string> {
  return parseId(ref) ?? keyNamed(await session.client.keys.list(session.project), ref, session).id
}

/** The key with the kid or the name. Throws if there is none, or several. */
export function keyNamed<Key extends { id: string; label: string }>(
  keys: readonly Key[],
  ref: string,
  { project }: Session,
): Key {
  return pickOne(keys, ref, {
    plural: 'keys',
    idName: 'kid',
    nameOf: ({ label }) => label,
    describe: ({ id }) => id,
    missing: `Project ${project} has no key`,
    code: 'key_not_found',
    listHint: 'pubring key list shows the keys of the project.',
  })
}
