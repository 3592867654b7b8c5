/**
 * The longest piece of work without a pause that the dearest body of each operation causes on the thread
 * that serves all requests, in CPU time of that thread. The application runs in this process.
 */
import process from 'node:process'
import { setImmediate as turn } from 'node:timers/promises'
import type { HttpApp } from '@pubring/server/app'
import { createApp, openRegistry } from '../../packages/cli/src/server/instance.ts'
import { loadConfig } from '../../packages/server/src/config/server-settings.ts'
import { prepareRegistry } from '../../packages/server/src/first-start.ts'
import { ecKey } from '../../test/support/keys/pem.ts'
import type { Figure } from '../report/figures.ts'
import { spreadOf } from '../report/spread.ts'
import type { Database } from '../server/databases.ts'
import { hostileBodies, type Operation, operationsWithBody } from './bodies.ts'

const maxPieceMs = 100

/** Bytes of the largest body of all operations, and of those that have no other limit. */
const maxBytes = { imports: 4 * 1024 * 1024, others: 64 * 1024 }

/** Requests with each body; the least of them counts, because others use the processor too. */
const tries = 2

export async function measurePieces({ url }: Database, progress: (text: string) => void) {
  const config = loadConfig({ PUBRING_DATABASE_URL: url, PUBRING_LOG_LEVEL: 'fatal' })
  const registry = await openRegistry(config)
  await registry.prepared
  const { newSecret = '' } = await prepareRegistry(registry.context, undefined)
  // The bodies delay the event loop.
  const app = await createApp(registry, Object.assign({ ...config }, { overloadLagMs: 0 }))
  app.readiness.starting = false
  try {
    const call = createCall(app, newSecret)
    const ids = await createRecords(call)
    const { body } = await call('GET', '/openapi.json')
    const figures: Figure[] = []
    for (const operation of operationsWithBody(JSON.parse(body))) {
      progress(`${operation.method} ${operation.path}`)
      figures.push(await measureOperation(call, operation, ids))
    }
    return figures.sort((a, b) => b.value.median - a.value.median)
  } finally {
    await app.close()
  }
}

type Call = ReturnType<typeof createCall>

function createCall(app: HttpApp, secret: string) {
  return (
    method: Operation['method'] | 'GET',
    url: string,
    payload?: string | Buffer,
    type = 'application/json',
  ) => {
    const headers = {
      'x-api-key': secret,
      ...(payload === undefined ? {} : { 'content-type': type }),
    }
    return app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })
  }
}

/** Records to change, as the ids that replace the parameters of paths. */
async function createRecords(call: Call): Promise<(path: string) => string> {
  const create = async (url: string, body: object, member: string): Promise<string> => {
    const answer = await call('POST', url, JSON.stringify(body))
    if (answer.statusCode !== 201) throw new Error(answer.body)
    return JSON.parse(answer.body)[member]
  }
  const keys = '/v1/projects/default/jwt-keys'
  const newKey = () => ({ name: 'n', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem })
  const kid = await create(keys, newKey(), 'kid')
  const apiKey = { name: 'n', role: 'reader', project: 'default' }
  const apiKeyId = await create('/v1/api-keys', apiKey, 'id')
  const rule = { for: 'workloads', name: 'n', issuer: 'https://issuer.test', audience: 'a' }
  const members = { conditions: { sub: 's' }, role: 'reader', project: 'default' }
  const ruleId = await create('/v1/access-rules', { ...rule, ...members }, 'id')
  return (path) =>
    path
      .replace('{projectIdOrName}', 'default')
      .replace('{kid}', kid)
      .replace('access-rules/{id}', `access-rules/${ruleId}`)
      .replace('{id}', apiKeyId)
}

async function measureOperation(
  call: Call,
  operation: Operation,
  idsIn: (path: string) => string,
): Promise<Figure> {
  const { method, path, type } = operation
  const url = idsIn(path)
  const isImport = path.endsWith('/key-imports')
  // Compiles the schema and the code.
  for (const body of ['{"keys":[{}]}', '{"name":0}', 'x']) await call(method, url, body, type)
  let dearest = { ms: 0, body: '' }
  for (const [body, text] of hostileBodies(operation, maxBytes[isImport ? 'imports' : 'others'])) {
    const payload = Buffer.from(text)
    let ms = Number.POSITIVE_INFINITY
    for (let index = 0; index < tries; index += 1) {
      ms = Math.min(ms, await longestPiece(() => call(method, url, payload, type)))
      if (ms < dearest.ms) break
    }
    if (ms > dearest.ms) dearest = { ms, body }
  }
  return {
    name: `longest piece of ${method} ${path}`,
    server: 'SQLite',
    unit: 'ms of CPU',
    value: spreadOf([dearest.ms]),
    target: { max: maxPieceMs },
    note: `with a body of ${dearest.body}`,
  }
}

/** Milliseconds of CPU between two turns of the event loop, at most, until the work is done. */
async function longestPiece(work: () => Promise<unknown>): Promise<number> {
  await turn()
  let longest = 0
  let last = cpuMicros()
  const { promise, resolve } = Promise.withResolvers<void>()
  let isDone = false
  const observe = () => {
    const now = cpuMicros()
    longest = Math.max(longest, now - last)
    last = now
    if (isDone) resolve()
    else setImmediate(observe)
  }
  setImmediate(observe)
  await work()
  isDone = true
  await promise
  return longest / 1_000
}

function cpuMicros(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}
