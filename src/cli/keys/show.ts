import type { JwtKey, JwtKeyWithDetails } from '../../../client/src/index.ts'
import type { ConnectionFlags } from '../connection/connection.ts'
import { type Session, withPublicSession } from '../connection/session.ts'
import { type Column, formatMembers, formatTable, timeColumn } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { formatState, formatTime } from '../terminal/times.ts'
import { resolveKid } from './find.ts'
import { describeKind } from './kinds.ts'

export async function listKeys(
  { client, project, terminal, print, notify }: Session,
  { active }: { active?: true },
): Promise<void> {
  const keys = await client.keys.list(project, active === true ? { active } : {})
  print(keys, () => formatTable(terminal, columns, keys))
  if (keys.length > 0) return
  const kind = active === true ? 'active keys' : 'keys'
  notify(`Project ${project} has no ${kind}. To register one, use pubring key add.`)
}

const columns: readonly Column<JwtKey>[] = [
  { heading: 'KID', value: ({ id }) => id },
  { heading: 'NAME', value: ({ label }) => label, truncate: true },
  { heading: 'ALGORITHM', value: ({ algorithm }) => algorithm },
  { heading: 'STATE', value: stateOf },
  timeColumn('CREATED', ({ createTime }) => createTime),
  timeColumn('EXPIRES', ({ expireTime }) => expireTime),
]

function stateOf(key: JwtKey): string {
  return formatState(key, 'inactive')
}

/** Shows one key with its details, or with `--pem` the key alone. */
export async function showKey(
  session: Session,
  ref: string,
  { pem }: { pem?: true },
): Promise<void> {
  const { client, project, terminal, print } = session
  const key = await client.keys.get(project, await resolveKid(session, ref))
  const { publicKeyPem } = key
  if (pem === true) print({ publicKeyPem }, () => publicKeyPem)
  else print(key, () => detailsOf(terminal, key))
}

function detailsOf(terminal: Terminal, key: JwtKeyWithDetails): string {
  const { details } = key
  return formatMembers(terminal, [
    ['kid', key.id],
    ['published kid', details.publishedKid],
    ['name', key.label],
    ['project', key.projectId],
    ['state', stateOf(key)],
    ['algorithm', key.algorithm],
    ['key', describeKind(details)],
    ['thumbprint', details.thumbprint],
    ['SPKI SHA-256', details.spkiSha256],
    ['introduced by', details.introducedBy],
    ['created', formatTime(key.createTime, terminal)],
    ['updated', formatTime(key.updateTime, terminal)],
    ['expires', formatTime(key.expireTime, terminal)],
    ['known to all from', formatTime(details.convergedTime, terminal)],
  ])
}

/** Prints the project's key set: JSON with `--json` and without. */
export async function showJwks(terminal: Terminal, flags: ConnectionFlags): Promise<void> {
  await withPublicSession(terminal, flags, async ({ client, project, print, notify }) => {
    const jwks = await client.jwks.get(project)
    print(jwks, () => `${JSON.stringify(jwks, null, 2)}\n`)
    if (jwks.keys.length === 0) notify(`Project ${project} has no active keys: no token verifies.`)
  })
}
