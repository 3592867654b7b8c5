import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { newApiKeySecret } from '../../../packages/server/src/kernel/access/secrets.ts'
import { endLater } from '../ending.ts'
import { ecKey } from '../keys/pem.ts'
import { createServerClient, highLimits } from './client.ts'
import {
  type Launch,
  readJson,
  type ServerProcess,
  spawnServer,
  temporaryFolder,
  whenReady,
} from './process.ts'

/** The response to a request. Status 0: none. */
export interface CallResult {
  status: number
  body: string
  ms: number
  etag: string
}

export interface Replica extends ServerProcess {
  apiKey: string
  /** Sends a request with the admin API key. */
  call(method: string, path: string, body?: unknown): Promise<CallResult>
}

/** Server processes on one database. */
export interface Replicas {
  /** Starts another replica and waits until it is ready. */
  add(env?: Record<string, string>, launch?: Launch): Promise<Replica>
  /** Starts another replica without waiting for it. */
  spawn(env?: Record<string, string>, launch?: Launch): Promise<Replica>
  /** All replicas so far. */
  all(): readonly Replica[]
  /** Kills all replicas and deletes their folders. */
  close(): Promise<void>
}

export function createReplicas(databaseUrl: string): Replicas {
  const { folder, remove } = temporaryFolder()
  const apiKey = newApiKeySecret()
  const all: Replica[] = []

  async function spawn(env: Record<string, string> = {}, launch: Launch = {}): Promise<Replica> {
    const where = join(folder, String(all.length))
    mkdirSync(where)
    const settings = {
      ...highLimits,
      PUBRING_DATABASE_URL: databaseUrl,
      PUBRING_ADMIN_API_KEY: apiKey,
      ...env,
    }
    const server = await spawnServer(where, settings, launch)
    const replica = { ...server, apiKey, call: caller(server, apiKey) }
    all.push(replica)
    return replica
  }
  return {
    spawn,
    all: () => all,
    async add(env, launch) {
      const replica = await spawn(env, launch)
      await whenReady(replica)
      return replica
    },
    close: endLater(async () => {
      for (const replica of all) {
        replica.signal('SIGCONT')
        replica.signal('SIGKILL')
        await replica.ended
      }
      remove()
    }),
  }
}

function caller(server: ServerProcess, apiKey: string): Replica['call'] {
  const { send } = createServerClient(server, apiKey)
  return async (method, path, body) => {
    const start = performance.now()
    const { status = 0, text = '', headers } = (await send(method, path, body)) ?? {}
    const etag = headers?.get('etag') ?? ''
    return { status, body: text, ms: performance.now() - start, etag }
  }
}

/** Registers a key, by default a new one; returns any response. */
export function createKey(
  replica: Replica,
  project: string,
  publicKeyPem = ecKey().publicKeyPem,
  algorithm = 'ES256',
): Promise<CallResult> {
  const body = { name: 'k', algorithm, publicKeyPem }
  return replica.call('POST', `/v1/projects/${project}/jwt-keys`, body)
}

/** Registers a key and returns its kid. */
export async function registerKey(...key: Parameters<typeof createKey>): Promise<string> {
  const { status, body } = await createKey(...key)
  if (status !== 201) throw new Error(`no key: ${status} ${body}`)
  return JSON.parse(body).kid
}

/** The name may be one that another project has just given up. */
export async function createProject(replica: Replica, name: string): Promise<string> {
  const response = await replica.call('POST', '/v1/projects?release=true', { name })
  if (response.status !== 201) throw new Error(`no project: ${response.status} ${response.body}`)
  return String(JSON.parse(response.body).id)
}

export async function kidsOf(replica: Replica, project: string): Promise<string[]> {
  const { status, body } = await replica.call('GET', `/v1/projects/${project}/jwt-keys`)
  if (status !== 200) throw new Error(`no list: ${status} ${body}`)
  return JSON.parse(body).map(({ id }: { id: string }) => id)
}

export async function publishedKids(replica: Replica, project: string): Promise<string[]> {
  const response = await fetch(`${replica.url}/v1/projects/${project}/.well-known/jwks.json`)
  const { keys } = await readJson<{ keys: { kid: string }[] }>(response)
  return keys.map(({ kid }) => kid)
}
