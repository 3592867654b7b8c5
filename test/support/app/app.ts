import type { FastifyInstance, FastifyReply } from 'fastify'
import { type InjectOptions, inject, type Response } from 'light-my-request'
import { jwsAlgorithmNames } from '../../../packages/intake/src/algorithms.ts'
import { examineKey } from '../../../packages/intake/src/examine.ts'
import { buildApp } from '../../../packages/server/src/app.ts'
import { type ErrorCode, errorTable } from '../../../packages/server/src/errors.ts'
import { apiKeyChanges } from '../../../packages/server/src/features/api-keys/changes.ts'
import { apiKeyRecord } from '../../../packages/server/src/features/api-keys/operations.ts'
import { createBulkIntake, type Intake } from '../../../packages/server/src/intake/pool.ts'
import { findSharedPrimes } from '../../../packages/server/src/intake/tasks.ts'
import { newApiKeySecret } from '../../../packages/server/src/kernel/access/secrets.ts'
import { findProjectRecord } from '../../../packages/server/src/kernel/access/stored-projects.ts'
import type { Context, CoreConfig, Store } from '../../../packages/server/src/kernel/context.ts'
import { Problem, type Role } from '../../../packages/server/src/kernel/contract.ts'
import type { HttpOptions } from '../../../packages/server/src/kernel/http/options.ts'
import { now } from '../../../packages/server/src/kernel/values/times.ts'
import { createOutboundFetch } from '../../../packages/server/src/outbound/outbound.ts'
import type { Clock } from '../../../packages/server/src/runtime/clock.ts'
import { endAfterFile, endLater } from '../ending.ts'
import { emptyBlocklist } from '../keys/intake.ts'
import { expectNoSecret, rememberSecret } from '../secrets.ts'
import type { TestDatabase } from '../store/database.ts'
import { createProject, openTestStore, origin, type TestStore } from '../store/store.ts'
import { paths } from './operations.ts'

export const publicUrl = 'https://keys.example.com/base'

/** Headers of a request from a page of the console, in a session with this secret. */
export const pageHeaders = (secret: string | undefined) => ({
  'x-api-key': 'session',
  cookie: `__Secure-pubring-session=${secret}`,
  'sec-fetch-site': 'same-origin',
  origin: new URL(publicUrl).origin,
})

export interface TestApp {
  app: FastifyInstance
  database: TestDatabase
  context: Context
  /** The secret of an admin API key for all projects. */
  admin: string
  project: { id: string; name: string }
  /** Creates an API key and returns its secret. */
  apiKey(role: Role, projectId?: string, expireTime?: string): Promise<string>
  /** Sends a request with the admin API key, unless the headers override it. */
  send(method: Method, url: string, request?: RequestInput): Promise<Response>
  /** Injects a request in front of the response cache, as if from a socket. */
  inject(request: InjectOptions | string): Promise<Response>
  /** Listens on a free port; the address has no final slash. */
  listen(): Promise<string>
  /** Called by itself after the test or file. */
  close(): Promise<void>
}

type Method = NonNullable<InjectOptions['method']>

interface RequestInput {
  /** Objects are sent as JSON, text and bytes unchanged. */
  body?: unknown
  headers?: Record<string, string>
}

interface TestOptions {
  http?: Partial<HttpOptions>
  config?: Partial<CoreConfig>
  examine?: Intake['examine']
  intakeFor?: Context['intakeFor']
  /** By default to public addresses only. */
  fetch?: Context['fetch']
  clock?: Clock
  logSigner?: Context['logSigner']
  /** By default a new one of the run's engine. */
  database?: TestDatabase
  /** May add hooks that see the routes. */
  beforeRoutes?: (app: FastifyInstance) => Promise<void>
  /** Stays open, for one application after the other; opening it takes most of their start. */
  stored?: TestStore
}

/**
 * The whole application on a store of its own, with one project. Its end fails if a secret was
 * logged, returned or stored, if docs/openapi.json lacks a status or a member that was returned, or if
 * an error had another form than all errors.
 */
export async function startApp(options: TestOptions = {}): Promise<TestApp> {
  const { store, database, dispose } = options.stored ?? (await openTestStore(options.database))
  if (options.stored !== undefined) searchAfterFile(database)
  const context = testContext(store, options)
  const name = 'payments'
  const project =
    (await findProjectRecord(store.reader, { name })) ?? (await createProject(store, name))
  const apiKey = (role: Role, projectId?: string, expireTime?: string) =>
    registerApiKey(context, role, { projectId, expireTime })
  const admin = await apiKey('admin')
  const log: string[] = []
  const logStream = {
    write(line: string) {
      log.push(line)
      options.http?.logStream?.write(line)
    },
  }
  const httpOptions = {
    publicUrl,
    trustProxy: false,
    // The tests themselves delay the event loop.
    overloadLagMs: 0,
    logLevel: 'trace',
    logPretty: false,
    ...options.http,
    logStream,
  } as const
  const app = await buildApp(context, httpOptions, options.beforeRoutes)
  const undocumented = recordUndocumented(app)
  const injectRequest = async (request: InjectOptions | string) => {
    await app.ready()
    return inject((incoming, response) => app.server.emit('request', incoming, response), request)
  }
  const responses = recordResponses(app)
  return {
    app,
    database,
    context,
    admin,
    project,
    apiKey,
    send: (method, url, request = {}) =>
      injectRequest(withDefaults(admin, { method, url, ...request })),
    inject: injectRequest,
    listen: () => app.listen({ host: '127.0.0.1', port: 0 }),
    close: endLater(async () => {
      await app.close()
      expectNoSecret({ log: log.join(''), responses: responses.join('\n') })
      if (options.stored === undefined) {
        const stored = await database.dump()
        await dispose()
        expectNoSecret({ database: stored })
      }
      if (undocumented.size > 0) {
        const list = [...undocumented].join('; ')
        throw new Error(`not as docs/openapi.json (npm run generate) says, or errors have: ${list}`)
      }
    }),
  }
}

const searchedAfterFile = new WeakSet<TestDatabase>()

/** Searches the database of many applications for secrets once. */
function searchAfterFile(database: TestDatabase): void {
  if (searchedAfterFile.has(database)) return
  searchedAfterFile.add(database)
  endAfterFile(async () => expectNoSecret({ database: await database.dump() }))
}

function testContext(store: Store, options: TestOptions): Context {
  const examine: Intake['examine'] =
    options.examine ?? (async (text, name) => examineKey(text, name, emptyBlocklist))
  const bulkFor = createBulkIntake(
    {
      examine: (tasks) => Promise.all(tasks.map((task) => examine(task.text, task.algorithm))),
      sharedPrimes: async (task) => findSharedPrimes(task),
    },
    1,
  )
  return {
    store,
    clock: options.clock ?? { now: Date.now, monotonic: () => performance.now() },
    config: {
      algorithms: jwsAlgorithmNames,
      maxKeysPerProject: 50,
      maxJwksBytes: 51_200,
      jwksMaxAge: 60,
      jwksStaleLimit: 600,
      logWitnesses: [],
      returnOrigins: [],
      sessionLifetime: 43_200,
      publicUrl,
      ...options.config,
    },
    intakeFor: options.intakeFor ?? ((caller) => ({ examine, bulk: bulkFor(caller) })),
    ...(options.logSigner === undefined ? {} : { logSigner: options.logSigner }),
    fetch: options.fetch ?? createOutboundFetch({ allow: [] }),
  }
}

/** Records all responses except new API keys, links and cookies, whose secrets are remembered instead. */
function recordResponses(app: FastifyInstance): string[] {
  const responses: string[] = []
  app.addHook('onSend', async (request, reply, payload) => {
    const text = typeof payload === 'string' || Buffer.isBuffer(payload) ? String(payload) : ''
    const [, secret] = /"(?:apiKey|access_token|url)":"[^"]*\b(pubring_\w+)"/.exec(text) ?? []
    const { url = '' } = request.routeOptions
    if (secret !== undefined && /\/(api-keys|token|registration-links)$/.test(url)) {
      rememberSecret('an API key or a link', secret)
      return payload
    }
    // The documentation is large and has no secrets.
    if (request.routeOptions.schema?.hide !== true) responses.push(text)
    const { 'set-cookie': cookies = [], ...headers } = reply.getHeaders()
    for (const [secret] of String(cookies).matchAll(/pubring_\w{49}/g)) {
      rememberSecret('the secret of a session', secret)
    }
    responses.push(JSON.stringify(headers))
    return payload
  })
  return responses
}

/**
 * Records statuses that the OpenAPI document lacks for their operation, members of responses, and errors
 * that differ from the form of all errors.
 */
function recordUndocumented(app: FastifyInstance): Set<string> {
  const undocumented = new Set<string>()
  app.addHook('onSend', async ({ routeOptions }, reply, payload) => {
    const type = String(reply.getHeader('content-type'))
    const isError = type === 'application/problem+json'
    const isRead = typeof payload === 'string' || (isError && Buffer.isBuffer(payload))
    if (!isRead || !/^application\/[\w-+]*json\b/.test(type)) return payload
    const responses: Record<number, ResponseSchema> = Object(routeOptions.schema?.response)
    const body = JSON.parse(String(payload))
    const schema = isError ? Problem : responses[reply.statusCode]
    for (const path of undeclared(schema, body)) {
      undocumented.add(`${routeOptions.method} ${routeOptions.url} ${reply.statusCode} ${path}`)
    }
    if (isError && !hasErrorForm(body, reply)) undocumented.add(`${payload}`)
    return payload
  })
  app.addHook('onResponse', async (request, reply) => {
    if (request.is404 || reply.statusCode === 405 || request.routeOptions.schema?.hide) return
    const path = (request.routeOptions.url ?? '').replace(/:(\w+)/g, '{$1}')
    const method = request.method === 'HEAD' ? 'get' : request.method.toLowerCase()
    const responses = Object.keys(paths[path]?.[method]?.responses ?? {})
    if (!responses.includes(String(reply.statusCode))) {
      undocumented.add(`${method} ${path} ${reply.statusCode}`)
    }
  })
  return undocumented
}

/** Whether an error is problem details (RFC 9457) that no cache stores and that show nothing internal. */
function hasErrorForm(problem: Problem, reply: FastifyReply): boolean {
  const { code, type, title, status, requestId } = problem
  const known = errorTable[code as ErrorCode]
  const isChallenge = reply.hasHeader('www-authenticate')
  return (
    [title, status, requestId].join() ===
      [known.title, reply.statusCode, reply.getHeader('x-request-id')].join() &&
    known.status === status &&
    type.endsWith(`/docs/errors#${code}`) &&
    reply.getHeader('cache-control') === 'no-store' &&
    isChallenge === (status === 401) &&
    !/\bat .*\.ts|node_modules|SQLITE_|\bselect .* from\b|\binsert into\b/i.test(
      JSON.stringify(problem),
    )
  )
}

interface ResponseSchema {
  type?: unknown
  anyOf?: readonly ResponseSchema[]
  items?: ResponseSchema
  properties?: Record<string, ResponseSchema>
  /** The members of a record: one pattern, which every name matches. */
  patternProperties?: Record<string, ResponseSchema>
}

/** Members of the value that its schema does not name, as paths: the server sends all members. */
function undeclared(schema: ResponseSchema | undefined, value: unknown, path = ''): string[] {
  if (schema === undefined || typeof value !== 'object' || value === null) return []
  const { anyOf, items, properties, patternProperties = {} } = schema
  if (anyOf !== undefined) {
    const branches = anyOf.map((branch) => undeclared(branch, value, path))
    return branches.find((found) => found.length === 0) ?? branches[0] ?? []
  }
  if (Array.isArray(value)) return value.flatMap((item) => undeclared(items, item, `${path}[]`))
  const [ofRecord] = Object.values(patternProperties)
  return Object.entries(value).flatMap(([name, member]) => {
    const known = properties === undefined ? (ofRecord ?? {}) : properties[name]
    return known === undefined ? [`${path}.${name}`] : undeclared(known, member, `${path}.${name}`)
  })
}

async function registerApiKey(
  context: Context,
  role: Role,
  { projectId, expireTime }: { projectId: string | undefined; expireTime: string | undefined },
): Promise<string> {
  const secret = rememberSecret('an API key', newApiKeySecret())
  const record = apiKeyRecord(secret, now(context.clock), {
    name: `a ${role}`,
    role,
    ...(projectId === undefined ? {} : { projectId }),
    ...(expireTime === undefined ? {} : { expireTime }),
  })
  await context.store.commit(apiKeyChanges.createApiKey, { origin: origin(), apiKey: record })
  return secret
}

function withDefaults(
  admin: string,
  { method, url, body, headers }: RequestInput & { method: Method; url: string },
): InjectOptions {
  const raw = typeof body === 'string' || Buffer.isBuffer(body)
  return {
    method,
    url,
    headers: {
      'x-api-key': admin,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { payload: raw ? body : JSON.stringify(body) }),
  }
}
