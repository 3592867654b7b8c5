import type { ApiKey } from '@pubring/client'
import { type Role, roles } from '@pubring/server/kernel/contract'
import { present } from '@pubring/server/runtime/present'
import { commandLine } from '../connection/command-lines.ts'
import { type ConnectionFlags, defaultSource } from '../connection/connection.ts'
import { pickOne } from '../connection/pick.ts'
import { confirmOwn, type Session, withSession } from '../connection/session.ts'
import { confirm, type YesFlag } from '../terminal/confirm.ts'
import { usageError } from '../terminal/failures.ts'
import { type Column, formatMembers, formatTable, timeColumn } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { formatState, parseExpiry } from '../terminal/times.ts'

export interface ApiKeyCreateFlags extends ConnectionFlags {
  name?: string
  role?: Role
  expires?: string
  allProjects?: true
  admin?: true
  databaseUrl?: string
}

/** Creates an API key; only its secret goes to stdout. */
export async function createApiKey(terminal: Terminal, flags: ApiKeyCreateFlags): Promise<void> {
  const { name, role, expires: expireTime, allProjects = false } = flags
  if (flags.databaseUrl !== undefined) {
    throw usageError('--database-url requires --admin: otherwise the server creates the API key.')
  }
  if (name === undefined || role === undefined) {
    throw usageError(
      `An API key needs a --name and a --role (${roles.join(', ')}).`,
      'With --admin it is created in the database directly, without a server.',
    )
  }
  await withSession(terminal, flags, async ({ client, print, notify, ...session }) => {
    if (!allProjects && session.projectSource === defaultSource) {
      throw usageError('Name the project of the API key with --project, or pass --all-projects.')
    }
    const project = allProjects ? undefined : session.project
    const created = await client.apiKeys.create({
      name,
      role,
      ...present({ project, expireTime }),
    })
    notify(
      `API key “${created.name}” (${role}, ${project ?? 'all projects'}), id ${created.id}. It is shown only once:`,
    )
    print(created, () => `${created.apiKey}\n`)
  })
}

const columns: readonly Column<ApiKey>[] = [
  { heading: 'ID', value: ({ id }) => id, id: true },
  { heading: 'NAME', value: ({ name }) => name, cut: true },
  { heading: 'ROLE', value: ({ role }) => role },
  {
    heading: 'PROJECT',
    value: ({ projectId = '' }) => projectId,
    display: ({ projectId = 'all' }) => projectId,
    id: true,
  },
  { heading: 'STATE', value: formatState },
  // A terminal leaves out a column without a text.
  { heading: 'BEGINS', value: ({ prefix }) => prefix, display: () => '' },
  timeColumn('USED', ({ lastUseTime }) => lastUseTime, 'never'),
  timeColumn('EXPIRES', ({ expireTime }) => expireTime),
]

export async function listApiKeys({ client, terminal, print }: Session): Promise<void> {
  const apiKeys = await client.apiKeys.list()
  print(apiKeys, () => formatTable(terminal, columns, apiKeys))
}

export async function showApiKey(session: Session, ref: string): Promise<void> {
  const apiKey = await findApiKey(session, ref)
  session.print(apiKey, () => formatMembers(session.terminal, apiKey))
}

async function findApiKey(session: Session, ref: string): Promise<ApiKey> {
  return pickOne(await session.client.apiKeys.list(), ref, {
    list: commandLine(session, 'api-key list'),
    noun: 'API key',
    nameOf: ({ name }) => name,
    describe: ({ prefix }) => `(${prefix}…)`,
  })
}

interface UpdateFlags extends YesFlag {
  name?: string
  role?: Role
  active?: 'true' | 'false'
  expires?: string
}

export async function updateApiKey(
  session: Session,
  ref: string,
  flags: UpdateFlags,
): Promise<void> {
  const { name, role, active, expires } = flags
  const expireTime = expires === undefined ? undefined : parseExpiry(expires, '--expires')
  const patch = present({ name, role, active: active && active === 'true', expireTime })
  if (Object.keys(patch).length === 0) throw usageError('Name at least one change.')
  const apiKey = await findApiKey(session, ref)
  if (active === 'false') await confirmRemoval(session, apiKey, 'Deactivate it?', flags)
  const updated = await confirmOwn(session, flags, (confirmation) =>
    session.client.apiKeys.update(apiKey.id, patch, confirmation),
  )
  session.print(updated)
  const end = updated.active && updated.expireTime ? `, until ${updated.expireTime}` : ''
  session.notify(`API key “${updated.name}” (${updated.role}) is ${formatState(updated)}${end}.`)
}

export async function deleteApiKey(session: Session, ref: string, flags: YesFlag): Promise<void> {
  const apiKey = await findApiKey(session, ref)
  await confirmRemoval(session, apiKey, 'Delete it?', flags)
  await confirmOwn(session, flags, (confirmation) =>
    session.client.apiKeys.delete(apiKey.id, confirmation),
  )
  session.print({ deleted: apiKey.id })
  session.notify(`“${apiKey.name}” (${apiKey.id}) is deleted and no longer valid.`)
}

async function confirmRemoval(
  { terminal }: Session,
  { name, role, prefix }: ApiKey,
  question: string,
  flags: YesFlag,
): Promise<void> {
  const statement = `“${name}” (${role}, ${prefix}…) will no longer be valid.`
  await confirm(terminal, flags, { statement, question })
}
