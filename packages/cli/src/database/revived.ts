import { readAccessRules } from '@pubring/server/features/access-rules/reads'
import { isApplied } from '@pubring/server/features/access-rules/stored'
import { readApiKeys } from '@pubring/server/features/api-keys/reads'
import { keys } from '@pubring/server/features/keys/stored'
import { isLive, links } from '@pubring/server/features/registration-links/stored'
import { idleSince } from '@pubring/server/features/sign-in/caller'
import { readSessions } from '@pubring/server/features/sign-in/reads'
import { openReads } from '@pubring/server/kernel/storage/open'
import type { Db } from '@pubring/server/kernel/storage/schema'
import { isActive, isExpired, now } from '@pubring/server/kernel/values/times'
import { systemClock } from '@pubring/server/runtime/clock'
import { present } from '@pubring/server/runtime/present'
import { formatCount } from '@pubring/server/runtime/text'

/** What is valid in a backup, and in the database that it replaces is not, or has other rights or an earlier end. */
export type Revived = Awaited<ReturnType<typeof findRevived>>

/** Compares the databases row by row with their ledgers: a contradicted row counts as not valid. */
export async function findRevived(backupUrl: string, presentUrl: string) {
  const backup = await openReads(backupUrl)
  try {
    const running = await openReads(presentUrl)
    try {
      return await compare(backup.db, running.db)
    } finally {
      await running.close()
    }
  } finally {
    await backup.close()
  }
}

/** Long because it has every kind of record that grants something. */
async function compare(backup: Db, running: Db) {
  const time = now(systemClock)
  async function revived<Row extends { id: string; expireTime?: string }>(
    readValid: (db: Db) => Promise<Row[]>,
    rightsOf: (row: Row) => unknown = () => '',
  ): Promise<Row[]> {
    const keyOf = (row: Row) => JSON.stringify([row.id, rightsOf(row)])
    const valid = new Map((await readValid(running)).map((row) => [keyOf(row), row]))
    return (await readValid(backup)).filter((row) => {
      const other = valid.get(keyOf(row))
      return other === undefined || (row.expireTime ?? '~') > (other.expireTime ?? '~')
    })
  }
  const projects = await backup
    .selectFrom('project')
    .select(['id', 'name'])
    .orderBy('name')
    .execute()
  const found = []
  const foundLinks = []
  for (const { id: projectId, name: project } of projects) {
    const active = await revived(
      async (db) => {
        const all = await keys.read(db, (rows) =>
          rows.where('project_id', '=', projectId).orderBy('id'),
        )
        return all.filter((key) => isActive(key, time))
      },
      ({ endReason }) => endReason === 'compromised',
    )
    found.push(
      ...active.map(({ id, label, expireTime }) => ({
        project,
        kid: id,
        label,
        ...present({ expireTime }),
      })),
    )
    const live = await revived(
      async (db) => {
        const all = await links.read(db, (rows) =>
          rows.where('project_id', '=', projectId).orderBy('id'),
        )
        return all.filter((link) => isLive(link, time))
      },
      ({ sessionDigest }) => sessionDigest,
    )
    foundLinks.push(...live.map(({ id, note }) => ({ project, id, note })))
  }
  const apiKeys = await revived(
    async (db) => (await readApiKeys(db, 'all')).filter((apiKey) => isActive(apiKey, time)),
    ({ role, projectId }) => [role, projectId],
  )
  const rules = await revived(
    async (db) => (await readAccessRules(db)).filter(isApplied),
    (rule) => ({ ...rule, name: '', updateTime: '', lastExchangeTime: '' }),
  )
  const sessions = await revived(async (db) =>
    (await readSessions(db, 'all')).filter(
      (one) => !one.contradicted && !isExpired(one, time) && one.lastUseTime >= idleSince(time),
    ),
  )
  return {
    keys: found,
    apiKeys: apiKeys.map(toGrant),
    accessRules: rules.map(toGrant),
    sessions: sessions.map(({ id, person, apiKeyId }) => ({
      id,
      ...present({ subject: person?.subject, apiKeyId }),
    })),
    registrationLinks: foundLinks,
  }
}

type Grant = { id: string; name: string; role: string; projectId?: string; expireTime?: string }

const toGrant = ({ id, name, role, projectId, expireTime }: Grant) => ({
  id,
  name,
  role,
  ...present({ projectId, expireTime }),
})

/** A line for each, for the operator who decides. */
export function revivedLines(revived: Revived): string[] {
  const until = (time: string | undefined) => (time === undefined ? '' : `, until ${time}`)
  const grant = (noun: string) => (one: Grant) =>
    `Valid again: ${noun} ${one.id} (${one.name}), ${one.role} of ${one.projectId ?? 'all projects'}${until(one.expireTime)}`
  return [
    ...revived.keys.map(
      ({ project, kid, label, expireTime }) =>
        `Published again: key ${kid} (${label}) of ${project}${until(expireTime)}`,
    ),
    ...revived.apiKeys.map(grant('API key')),
    ...revived.accessRules.map(grant('access rule')),
    ...revived.sessions.map(
      ({ id, subject, apiKeyId }) => `Valid again: session ${id} of ${subject ?? apiKeyId}`,
    ),
    ...revived.registrationLinks.map(
      ({ project, id, note }) => `Valid again: registration link ${id} (${note}) of ${project}`,
    ),
  ]
}

/** How many of each kind, as a part of a sentence; empty if there are none. */
export function countRevived(revived: Revived): string {
  const nouns = {
    keys: 'key',
    apiKeys: 'API key',
    accessRules: 'access rule',
    sessions: 'session',
    registrationLinks: 'registration link',
  } satisfies Record<keyof Revived, string>
  const counts = (Object.keys(nouns) as (keyof Revived)[]).flatMap((kind) =>
    revived[kind].length === 0 ? [] : [formatCount(revived[kind].length, nouns[kind])],
  )
  return new Intl.ListFormat('en-GB').format(counts)
}
