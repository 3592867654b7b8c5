import { PubringError } from './errors.ts'
import { apiKeyChanges } from './features/api-keys/changes.ts'
import { apiKeyRecord } from './features/api-keys/operations.ts'
import { countApiKeys } from './features/api-keys/reads.ts'
import { projectChanges } from './features/projects/changes.ts'
import { newApiKeySecret } from './kernel/access/secrets.ts'
import type { Origin } from './kernel/changes.ts'
import type { Context } from './kernel/context.ts'
import { newId } from './kernel/values/ids.ts'
import { now } from './kernel/values/times.ts'

/** The project of a new registry. */
export const firstProject = 'default'

/**
 * Registers the configured admin secret, if any. On an empty database also creates the first project
 * and, without a configured secret, an admin API key. Only one of several processes that start at
 * once on an empty database returns its secret.
 */
export async function prepareRegistry(
  context: Context,
  adminSecret: string | undefined,
): Promise<{ newSecret?: string }> {
  const { store } = context
  const actor = { name: 'pubring serve' }
  const origin: Origin = { actor, requestId: newId(), time: now(context.clock) }
  const isEmpty = (await countApiKeys(store.reader)) === 0
  if (isEmpty) await createFirstProject(context, origin)
  const secret = adminSecret ?? (isEmpty ? newApiKeySecret() : undefined)
  if (secret === undefined) return {}
  const apiKey = apiKeyRecord(secret, origin.time, {
    name: adminSecret === undefined ? 'first admin' : 'PUBRING_ADMIN_API_KEY',
    role: 'admin',
  })
  const isGenerated = adminSecret === undefined
  const { id } = await store.commit(apiKeyChanges.createApiKey, {
    origin,
    apiKey,
    ...(isGenerated ? { first: true } : {}),
  })
  return isGenerated && id === apiKey.id ? { newSecret: secret } : {}
}

async function createFirstProject({ store }: Context, origin: Origin): Promise<void> {
  try {
    await store.commit(projectChanges.createProject, { origin, id: newId(), name: firstProject })
  } catch (error) {
    // Another process created it first.
    if (!(error instanceof PubringError && error.code === 'project_name_taken')) throw error
  }
}
