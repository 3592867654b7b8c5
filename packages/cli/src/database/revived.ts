import { readApiKeys } from '@pubring/server/features/api-keys/reads'
import { keys } from '@pubring/server/features/keys/stored'
import { openReads } from '@pubring/server/kernel/storage/open'
import type { Db } from '@pubring/server/kernel/storage/schema'
import { isActive, now } from '@pubring/server/kernel/values/times'
import { systemClock } from '@pubring/server/runtime/clock'
import { present } from '@pubring/server/runtime/present'

/** Keys and API keys that are valid in a backup, and not in the database that the backup replaces. */
export interface Revived {
  keys: { project: string; kid: string; label: string }[]
  /** Includes API keys that have other rights in the backup. */
  apiKeys: { id: string; name: string; role: string; projectId?: string }[]
}

/** Compares the databases row by row with their ledgers: a contradicted row counts as not valid. */
export async function findRevived(backupUrl: string, presentUrl: string): Promise<Revived> {
  const backup = await openReads(backupUrl)
  try {
    const running = await openReads(presentUrl)
    try {
      const time = now(systemClock)
      const revivedKeys = await findKeys(backup.db, running.db, time)
      return { keys: revivedKeys, apiKeys: await findApiKeys(backup.db, running.db, time) }
    } finally {
      await running.close()
    }
  } finally {
    await backup.close()
  }
}

async function findKeys(backup: Db, running: Db, time: string): Promise<Revived['keys']> {
  const projects = await backup
    .selectFrom('project')
    .select(['id', 'name'])
    .orderBy('name')
    .execute()
  const found: Revived['keys'] = []
  for (const { id, name } of projects) {
    const readActive = async (db: Db) => {
      const all = await keys.read(db, (rows) => rows.where('project_id', '=', id).orderBy('id'))
      return all.filter((key) => isActive(key, time))
    }
    const valid = new Set((await readActive(running)).map((key) => key.id))
    const revived = (await readActive(backup)).filter((key) => !valid.has(key.id))
    found.push(...revived.map((key) => ({ project: name, kid: key.id, label: key.label })))
  }
  return found
}

async function findApiKeys(backup: Db, running: Db, time: string): Promise<Revived['apiKeys']> {
  const readActive = async (db: Db) =>
    (await readApiKeys(db, 'all')).filter((apiKey) => isActive(apiKey, time))
  const current = await readActive(running)
  const rights = new Map(current.map(({ id, role, projectId }) => [id, `${role} ${projectId}`]))
  return (await readActive(backup))
    .filter(({ id, role, projectId }) => rights.get(id) !== `${role} ${projectId}`)
    .map(({ id, name, role, projectId }) => ({ id, name, role, ...present({ projectId }) }))
}

/** A line for each, for the operator who decides. */
export function revivedLines({ keys, apiKeys }: Revived): string[] {
  return [
    ...keys.map(
      ({ project, kid, label }) => `Published again: key ${kid} (${label}) of ${project}`,
    ),
    ...apiKeys.map(
      ({ id, name, role, projectId }) =>
        `Valid again: API key ${id} (${name}), ${role} of ${projectId ?? 'all projects'}`,
    ),
  ]
}
