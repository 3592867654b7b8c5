import type { ApiKey, ApiKeyUpdate } from '../../../client/src/index.ts'
import { type Role, roles } from '../../contract/roles.ts'
import { parseId } from '../../core/ids.ts'
import { didYouMean } from '../../nearest.ts'
import type { ConfirmedFlags, ConnectionFlags } from '../connection/connection.ts'
import { type ItemKind, pickOne } from '../connection/pick.ts'
import { type Session, withSession } from '../connection/session.ts'
import { confirm } from '../terminal/confirm.ts'
import { usageError } from '../terminal/failures.ts'
import { type Column, formatMembers, formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { formatRelative, formatTime, parseTimeOption } from '../terminal/times.ts'

export interface ApiKeyCreateFlags extends ConnectionFlags {
  name?: string
  role?: string
  expires?: string
  admin?: true
  databaseUrl?: string
}

/** Makes an API key by the server; the secret alone is on stdout. */
export async function createApiKey(terminal: Terminal, flags: ApiKeyCreateFlags): Promise<void> {
  const { name, project } = flags
  if (flags.databaseUrl !== undefined) {
    throw usageError('--database-url goes with --admin: a server knows where its database is.')
  }
  if (name === undefined || flags.role === undefined) {
    throw usageError(
      'An API key needs a --name and a --role (reader, writer or admin).',
      'With --admin it is made in the database itself, without asking a server.',
    )
  }
  const role = readRole(flags.role)
  const expireTime =
    flags.expires === undefined ? undefined : parseTimeOption(flags.expires, '--expires')
  await withSession(terminal, flags, async ({ client, print, notify }) => {
    const made = await client.apiKeys.create({
      name,
      role,
      ...(project === undefined ? {} : { project }),
      ...(expireTime === undefined ? {} : { expireTime }),
    })
    notify(
      `API key “${made.name}” (${role}, ${project ?? 'all projects'}), id ${made.id}. It is shown this once:`,
    )
    print(made, () => `${made.apiKey}\n`)
  })
}

function readRole(text: string): Role {
  const role = roles.find((one) => one === text)
  if (role !== undefined) return role
  throw usageError(`The role must be one of ${roles.join(', ')}${didYouMean(text, roles)}`)
}

const columns: readonly Column<ApiKey>[] = [
  { heading: 'ID', value: ({ id }) => id },
  { heading: 'NAME', value: ({ name }) => name, truncate: true },
  { heading: 'ROLE', value: ({ role }) => role },
  {
    heading: 'PROJECT',
    value: ({ projectId = '' }) => projectId,
    display: ({ projectId = 'all' }) => projectId,
    truncate: true,
  },
  { heading: 'STATE', value: stateOf },
  { heading: 'BEGINS', value: ({ prefix }) => prefix },
  {
    heading: 'USED',
    value: ({ lastUseTime = '' }) => lastUseTime,
    display: ({ lastUseTime }) =>
      lastUseTime === undefined ? 'never' : formatRelative(lastUseTime),
  },
  {
    heading: 'EXPIRES',
    value: ({ expireTime = '' }) => expireTime,
    display: ({ expireTime }) => (expireTime === undefined ? '' : formatRelative(expireTime)),
  },
]

function stateOf({ active, expireTime }: ApiKey): string {
  if (active) return 'active'
  return expireTime !== undefined && Date.parse(expireTime) <= Date.now() ? 'expired' : 'revoked'
}

export async function listApiKeys(terminal: Terminal, flags: ConnectionFlags): Promise<void> {
  await withSession(terminal, flags, async ({ client, print }) => {
    const apiKeys = await client.apiKeys.list()
    print(apiKeys, () => formatTable(terminal, columns, apiKeys))
  })
}

export async function showApiKey(
  terminal: Terminal,
  given: string | undefined,
  flags: ConnectionFlags,
): Promise<void> {
  await withSession(terminal, flags, async (session) => {
    const { apiKeys } = session.client
    const apiKey = given === undefined ? await apiKeys.self() : await find(session, given)
    session.print(apiKey, () => membersOf(terminal, apiKey))
    if (given === undefined) {
      session.notify(`The API key comes from ${session.connection.apiKeySource}.`)
    }
  })
}

function membersOf(terminal: Terminal, apiKey: ApiKey): string {
  const { projectId, expireTime, lastUseTime } = apiKey
  return formatMembers(terminal, [
    ['id', apiKey.id],
    ['name', apiKey.name],
    ['role', apiKey.role],
    ['project', projectId ?? 'all'],
    ['state', stateOf(apiKey)],
    ['begins with', apiKey.prefix],
    ['created', formatTime(apiKey.createTime, terminal)],
    ['last used', lastUseTime === undefined ? undefined : formatTime(lastUseTime, terminal)],
    ['expires', expireTime === undefined ? undefined : formatTime(expireTime, terminal)],
  ])
}

const apiKeyKind: ItemKind<ApiKey> = {
  plural: 'API keys',
  idName: 'id',
  nameOf: ({ name }) => name,
  describe: ({ id, prefix }) => `${id}  (${prefix}…)`,
  missing: 'There is no API key',
  code: 'api_key_not_found',
  listHint: 'pubring api-key list shows the API keys.',
}

/** The API key with the id, or the only one with the name. */
async function find({ client }: Session, ref: string): Promise<ApiKey> {
  const id = parseId(ref)
  if (id !== undefined) return client.apiKeys.get(id)
  return pickOne(await client.apiKeys.list(), ref, apiKeyKind)
}

export async function renameApiKey(
  terminal: Terminal,
  given: string,
  name: string,
  flags: ConnectionFlags,
): Promise<void> {
  await change(terminal, given, { name }, flags, (apiKey) => {
    return `The API key ${apiKey.id} is called “${apiKey.name}”.`
  })
}

export async function changeRole(
  terminal: Terminal,
  given: string,
  text: string,
  flags: ConnectionFlags,
): Promise<void> {
  const role = readRole(text)
  await change(
    terminal,
    given,
    { role },
    flags,
    (apiKey) => `“${apiKey.name}” is a ${apiKey.role} now.`,
  )
}

async function change(
  terminal: Terminal,
  given: string,
  patch: ApiKeyUpdate,
  flags: ConnectionFlags,
  said: (apiKey: ApiKey) => string,
): Promise<void> {
  await withSession(terminal, flags, async (session) => {
    const { id } = await find(session, given)
    const apiKey = await session.client.apiKeys.update(id, patch)
    session.print(apiKey, () => '')
    session.notify(said(apiKey))
  })
}

export async function revokeApiKey(
  terminal: Terminal,
  given: string,
  flags: ConfirmedFlags,
): Promise<void> {
  await end(terminal, given, flags, 'Revoke it?', async (session, { id, name }) => {
    const apiKey = await session.client.apiKeys.update(id, { active: false })
    session.print(apiKey, () => '')
    session.notify(`“${name}” counts no more.`)
  })
}

export async function deleteApiKey(
  terminal: Terminal,
  given: string,
  flags: ConfirmedFlags,
): Promise<void> {
  await end(terminal, given, flags, 'Delete it?', async (session, { id, name }) => {
    await session.client.apiKeys.delete(id)
    session.print({ deleted: id }, () => '')
    session.notify(`“${name}” (${id}) is deleted and counts no more.`)
  })
}

/** The API key that asks is asked about in any case: with it, nothing could be undone. */
async function end(
  terminal: Terminal,
  given: string,
  flags: ConfirmedFlags,
  question: string,
  action: (session: Session, apiKey: ApiKey) => Promise<void>,
): Promise<void> {
  await withSession(terminal, flags, async (session) => {
    const apiKey = await find(session, given)
    const isOwn = (await session.client.apiKeys.self()).id === apiKey.id
    await confirm(terminal, {
      statement: isOwn
        ? `“${apiKey.name}” is the API key that this command uses.`
        : `“${apiKey.name}” (${apiKey.role}, ${apiKey.prefix}…) will count no more.`,
      question,
      yes: flags.yes,
      unattended: isOwn ? 'refuse' : 'proceed',
    })
    await action(session, apiKey)
  })
}
