import type {
  ApiKeyOperations,
  CallOptions,
  Client,
  ClientOptions,
  EventOperations,
  JwksOperations,
  KeyOperations,
  ProjectOperations,
  TokenOperations,
} from './api.ts'
import { followEvents, systemPath } from './follow.ts'
import { createTransport, type Operation, type Transport } from './transport.ts'
import type { Project } from './types.ts'
import { pathSegment } from './validation.ts'

/**
 * A client of the service at `url`. Sends nothing before the first operation. Throws `invalid_url` or
 * `invalid_api_key_text` if one of them cannot be used.
 *
 * @example
 * const client = createClient({ url: 'https://keys.example.com', apiKey: process.env.PUBRING_API_KEY })
 * const keys = await client.keys.list('payments', { active: true })
 */
export function createClient(options: ClientOptions): Client {
  const transport = createTransport(options)
  return {
    url: transport.url,
    projects: projectOperations(transport),
    keys: keyOperations(transport),
    tokens: tokenOperations(transport),
    events: eventOperations(transport),
    apiKeys: apiKeyOperations(transport),
    jwks: jwksOperations(transport),
  }
}

/** Resolves with the body; its type is the service's contract (test/client/types.test.ts). */
async function fetchBody<Body>(transport: Transport, operation: Operation): Promise<Body> {
  const { body } = await transport.send(operation)
  return body as Body
}

async function send(transport: Transport, operation: Operation): Promise<void> {
  await transport.send(operation)
}

function read(path: string, { signal }: CallOptions): Operation {
  return { method: 'GET', path, signal, retry: 'always' }
}

function readList(path: string, options: CallOptions): Operation {
  return { ...read(path, options), list: true }
}

/**
 * A repeated patch could undo another caller's change made in between. Deactivation is retried all
 * the same: taking effect matters more.
 */
function patch(path: string, body: object, { signal }: CallOptions): Operation {
  const deactivates = JSON.stringify(body) === '{"active":false}'
  return { method: 'PATCH', path, body, signal, retry: deactivates ? 'always' : 'if-not-processed' }
}

function remove(path: string, { signal }: CallOptions): Operation {
  return { method: 'DELETE', path, signal, retry: 'always' }
}

function create(path: string, body: object, { signal }: CallOptions): Operation {
  return { method: 'POST', path, body, signal, retry: 'if-not-processed' }
}

/** A POST that stores nothing. */
function query(path: string, body: object, { signal }: CallOptions): Operation {
  return { method: 'POST', path, body, signal, retry: 'always' }
}

function conditional(operation: Operation, { ifMatch }: { ifMatch?: string }): Operation {
  if (ifMatch === undefined) return operation
  return { ...operation, headers: { 'if-match': ifMatch }, retry: 'always' }
}

const projectPath = (project: string) => `/projects/${pathSegment(project, 'project')}`
const keysPath = (project: string) => `${projectPath(project)}/jwt-keys`
const keyPath = (project: string, kid: string) => `${keysPath(project)}/${pathSegment(kid, 'kid')}`
const apiKeyPath = (id: string) => `/api-keys/${pathSegment(id, 'API key id')}`

function projectOperations(transport: Transport): ProjectOperations {
  const list: ProjectOperations['list'] = async ({ limit, after, ...options } = {}) => {
    const operation = { ...readList('/projects', options), query: { limit, after } }
    const { body, headers } = await transport.send(operation)
    const next = nextCursor(headers, transport.url)
    return { items: body as Project[], ...(next === undefined ? {} : { next }) }
  }
  return {
    list,
    async *all(options = {}) {
      let after: string | undefined
      do {
        const page = await list({ ...options, limit: 200, ...(after && { after }) })
        yield* page.items
        after = page.next
      } while (after !== undefined)
    },
    get: async (project, o = {}) => fetchBody(transport, read(projectPath(project), o)),
    create: async (body, o = {}) => fetchBody(transport, create('/projects', body, o)),
    rename: async (project, name, o = {}) =>
      fetchBody(transport, patch(projectPath(project), { name }, o)),
    delete: async (project, o = {}) => {
      // By the time of a retry the name may belong to another project; an id never does.
      const retry = /^[0-9a-f-]{36}$/i.test(project) ? 'always' : 'if-not-processed'
      return send(transport, { ...remove(projectPath(project), o), retry })
    },
  }
}

/** The `after` parameter of the link to the next page (RFC 8288). */
function nextCursor(headers: Headers, baseUrl: string): string | undefined {
  const [, target] = /<([^>]*)>\s*;\s*rel="?next"?/.exec(headers.get('link') ?? '') ?? []
  if (target === undefined || !URL.canParse(target, baseUrl)) return undefined
  return new URL(target, baseUrl).searchParams.get('after') ?? undefined
}

function keyOperations(transport: Transport): KeyOperations {
  return {
    list: async (project, { active, ...o } = {}) =>
      fetchBody(transport, { ...readList(keysPath(project), o), query: { active } }),
    get: async (project, kid, o = {}) => fetchBody(transport, read(keyPath(project, kid), o)),
    create: async (project, body, o = {}) =>
      fetchBody(transport, create(keysPath(project), body, o)),
    update: async (project, kid, changes, o = {}) =>
      fetchBody(transport, conditional(patch(keyPath(project, kid), changes, o), o)),
    delete: async (project, kid, o = {}) =>
      send(transport, conditional(remove(keyPath(project, kid), o), o)),
    import: async (project, body, o = {}) => {
      const operation = body.dryRun === true ? query : create
      return fetchBody(transport, operation(`${projectPath(project)}/key-imports`, body, o))
    },
    check: async (body, o = {}) => fetchBody(transport, query('/key-checks', body, o)),
  }
}

function tokenOperations(transport: Transport): TokenOperations {
  return {
    check: async (project, body, o = {}) =>
      fetchBody(transport, query(`${projectPath(project)}/token-checks`, body, o)),
  }
}

function eventOperations(transport: Transport): EventOperations {
  const path = (project: string | undefined) =>
    project === undefined ? systemPath : `${projectPath(project)}${systemPath}`
  return {
    list: async ({ project, after, limit, ...o } = {}) =>
      fetchBody(transport, { ...readList(path(project), o), query: { after, limit } }),
    follow: ({ project, ...o } = {}) => followEvents(transport, path(project), o),
  }
}

function apiKeyOperations(transport: Transport): ApiKeyOperations {
  return {
    list: async (o = {}) => fetchBody(transport, readList('/api-keys', o)),
    get: async (id, o = {}) => fetchBody(transport, read(apiKeyPath(id), o)),
    self: async (o = {}) => fetchBody(transport, read('/api-keys/self', o)),
    create: async (body, o = {}) => fetchBody(transport, create('/api-keys', body, o)),
    update: async (id, changes, o = {}) => fetchBody(transport, patch(apiKeyPath(id), changes, o)),
    delete: async (id, o = {}) => send(transport, remove(apiKeyPath(id), o)),
  }
}

function jwksOperations(transport: Transport): JwksOperations {
  const document = (project: string, name: string, o: CallOptions): Operation => {
    const path = `${projectPath(project)}/.well-known/${name}`
    return { ...read(path, o), access: 'public' }
  }
  return {
    get: async (project, o = {}) => fetchBody(transport, document(project, 'jwks.json', o)),
    discovery: async (id, o = {}) => fetchBody(transport, document(id, 'openid-configuration', o)),
  }
}
