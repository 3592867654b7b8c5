import { PubringError } from '../errors.ts'
import { apiKeyRecord } from './api-keys/operations.ts'
import { newApiKeySecret } from './api-keys/secrets.ts'
import type { Context } from './context.ts'
import { newId } from './ids.ts'
import type { Origin } from './ledger/changes.ts'
import { now } from './times.ts'

/** The project that a new registry begins with. */
export const firstProject = 'default'

/**
 * Makes the registry usable: registers the given admin secret, and on an empty database makes the
 * first project and, unless a secret was given, an admin API key, whose secret it answers: once,
 * however many processes start on the same empty database at once.
 */
export async function prepareRegistry(
  context: Context,
  givenSecret: string | undefined,
): Promise<{ newSecret?: string }> {
  const { store } = context
  const origin: Origin = {
    actor: { name: 'pubring serve' },
    requestId: newId(),
    time: now(context.clock),
  }
  const empty = (await store.countApiKeys()) === 0
  if (empty) await createFirstProject(context, origin)
  const secret = givenSecret ?? (empty ? newApiKeySecret() : undefined)
  if (secret === undefined) return {}
  const apiKey = apiKeyRecord(secret, origin.time, {
    name: givenSecret === undefined ? 'first admin' : 'PUBRING_ADMIN_API_KEY',
    role: 'admin',
  })
  if (givenSecret !== undefined) {
    await store.commit({ type: 'api_key.create', origin, apiKey })
    return {}
  }
  const made = await store.commit({ type: 'api_key.create', origin, apiKey, first: true })
  return made.id === apiKey.id ? { newSecret: secret } : {}
}

async function createFirstProject({ store }: Context, origin: Origin): Promise<void> {
  try {
    await store.commit({ type: 'project.create', origin, id: newId(), name: firstProject })
  } catch (error) {
    // Another replica that started on the same empty database was faster.
    if (!(error instanceof PubringError && error.code === 'project_name_taken')) throw error
  }
}
