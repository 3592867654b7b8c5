import { type JwtKey, type JwtKeyWithDetails, type KeyState, summarizeUse } from '@pubring/client'
import { present } from '@pubring/server/runtime/present'
import { projectCommandLine } from '../connection/command-lines.ts'
import { type ConnectionFlags, resolveConnection } from '../connection/connection.ts'
import { type Session, withConnection } from '../connection/session.ts'
import { type Column, formatMembers, formatTable, timeColumn } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { getKeys, withKid } from './find.ts'

export async function listKeys(session: Session, { active }: { active?: true }): Promise<void> {
  const { client, project, terminal, print, notify } = session
  const [all, entries] = await Promise.all([client.keys.list(project), client.keys.states(project)])
  const states = new Map(entries.map(({ kid, state }) => [kid, state]))
  const listed = active ? all.filter((key) => key.active) : all
  const keys = listed.map((key) => ({ ...key, state: states.get(key.id) }))
  const kids = all.map(({ id }) => id)
  print(keys.map(withKid), () => formatTable(terminal, columns, keys, kids))
  if (all.length === 0) {
    const add = projectCommandLine(session, 'key add', 'public.pem', '--label', 'first key')
    notify(`Project ${project} has no keys. To register one: ${add}`)
  } else if (keys.length === 0) {
    notify(`None of the ${all.length} keys of project ${project} is active.`)
  }
}

const columns: readonly Column<JwtKey & { state?: KeyState | undefined }>[] = [
  { heading: 'KID', value: ({ id }) => id, id: true },
  { heading: 'LABEL', value: ({ label }) => label, cut: true },
  { heading: 'ALGORITHM', value: ({ algorithm }) => algorithm },
  { heading: 'STATE', value: ({ state = '' }) => state },
  timeColumn('CREATED', ({ createTime }) => createTime),
  timeColumn('EXPIRES', ({ expireTime }) => expireTime),
]

/** Shows keys with their details, or with `--pem` the keys alone. */
export async function showKeys(
  session: Session,
  refs: readonly string[],
  { pem }: { pem?: true },
): Promise<void> {
  const { print } = session
  const keys = await getKeys(session, refs)
  const documents = keys.map((key) => (pem ? { publicKeyPem: key.publicKeyPem } : withKid(key)))
  print(documents.length === 1 ? documents[0] : documents, () =>
    pem
      ? keys.map(({ publicKeyPem }) => publicKeyPem).join('')
      : keys.map((key) => detailsOf(session, key)).join('\n'),
  )
}

function detailsOf({ terminal, now }: Session, key: JwtKeyWithDetails): string {
  const { id: kid, publicKeyPem: _pem, details, ...members } = key
  const { ended, use, ...others } = details
  const end = ended && { ...present({ endTime: ended.time }), endReason: ended.reason }
  const used = use && { use: summarizeUse(use, now()).text }
  return formatMembers(terminal, { kid, ...members, ...others, ...end, ...used })
}

/** Prints the project's key set: JSON with `--json` and without. */
export async function showJwks(terminal: Terminal, flags: ConnectionFlags): Promise<void> {
  const connection = resolveConnection(terminal.env, flags)
  await withConnection(terminal, connection, async ({ client, project, print, notify }) => {
    const jwks = await client.jwks.get(project)
    print(jwks, () => `${JSON.stringify(jwks, null, 2)}\n`)
    if (jwks.keys.length === 0) notify(`Project ${project} has no active keys: no token verifies.`)
  })
}
