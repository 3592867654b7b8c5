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
import { segment } from './validation.ts'

/**
 * A client of the service at `url`. Nothing is sent before the first operation. Throws
 * `invalid_url` or `invalid_api_key_text` where one of them cannot be used.
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

/** The body of the answer; its shape is the service's promise (test/client/types.test.ts). */
async function ask<Shape>(transport: Transport, operation: Operation): Promise<Shape> {
  const { body } = await transport.send(operation)
  return body as Shape
}

async function tell(transport: Transport, operation: Operation): Promise<void> {
  await transport.send(operation)
}

const read = (path: string, { signal }: CallOptions): Operation => {
  return { method: 'GET', path, signal, repeatable: 'always' }
}
/**
 * A patch says what shall be as of one moment: repeated, it would undo what somebody else did between.
 * Switching off is repeated all the same: that it holds matters more.
 */
const patch = (path: string, body: object, { signal }: CallOptions): Operation => {
  const switchesOff = JSON.stringify(body) === '{"active":false}'
  return { method: 'PATCH', path, body, signal, repeatable: switchesOff ? 'always' : 'refused' }
}
const remove = (path: string, { signal }: CallOptions): Operation => {
  return { method: 'DELETE', path, signal, repeatable: 'always' }
}
const readList = (path: string, options: CallOptions): Operation => {
  return { ...read(path, options), list: true }
}
/** A POST that makes something; `question` is one that only asks. */
const create = (path: string, body: object, { signal }: CallOptions): Operation => {
  return { method: 'POST', path, body, signal, repeatable: 'refused' }
}
const question = (path: string, body: object, { signal }: CallOptions): Operation => {
  return { method: 'POST', path, body, signal, repeatable: 'always' }
}
const conditional = (operation: Operation, { ifMatch }: { ifMatch?: string }): Operation => {
  if (ifMatch === undefined) return operation
  return { ...operation, headers: { 'if-match': ifMatch }, repeatable: 'always' }
}

const projectPath = (project: string) => `/projects/${segment(project, 'project')}`
const keysPath = (project: string) => `${projectPath(project)}/jwt-keys`
const keyPath = (project: string, kid: string) => `${keysPath(project)}/${segment(kid, 'kid')}`
const apiKeyPath = (id: string) => `/api-keys/${segment(id, 'id of the API key')}`

function projectOperations(transport: Transport): ProjectOperations {
  const list: ProjectOperations['list'] = async ({ limit, after, ...options } = {}) => {
    const operation = { ...readList('/projects', options), query: { limit, after } }
    const { body, headers } = await transport.send(operation)
    const next = nextOf(headers, transport.url)
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
    get: async (project, o = {}) => ask(transport, read(projectPath(project), o)),
    create: async (body, o = {}) => ask(transport, create('/projects', body, o)),
    rename: async (project, name, o = {}) =>
      ask(transport, patch(projectPath(project), { name }, o)),
    delete: async (project, o = {}) => {
      // A name may be that of another project by the time of a repetition; an id never is.
      const repeatable = /^[0-9a-f-]{36}$/i.test(project) ? 'always' : 'refused'
      return tell(transport, { ...remove(projectPath(project), o), repeatable })
    },
  }
}

/** The `after` of the link to the next page (RFC 8288). */
function nextOf(headers: Headers, base: string): string | undefined {
  const [, target] = /<([^>]*)>\s*;\s*rel="?next"?/.exec(headers.get('link') ?? '') ?? []
  if (target === undefined || !URL.canParse(target, base)) return undefined
  return new URL(target, base).searchParams.get('after') ?? undefined
}

function keyOperations(transport: Transport): KeyOperations {
  return {
    list: async (project, { active, ...o } = {}) =>
      ask(transport, { ...readList(keysPath(project), o), query: { active } }),
    get: async (project, kid, o = {}) => ask(transport, read(keyPath(project, kid), o)),
    create: async (project, body, o = {}) => ask(transport, create(keysPath(project), body, o)),
    update: async (project, kid, changes, o = {}) =>
      ask(transport, conditional(patch(keyPath(project, kid), changes, o), o)),
    delete: async (project, kid, o = {}) =>
      tell(transport, conditional(remove(keyPath(project, kid), o), o)),
    import: async (project, body, o = {}) => {
      const kind = body.dryRun === true ? question : create
      return ask(transport, kind(`${projectPath(project)}/key-imports`, body, o))
    },
    check: async (body, o = {}) => ask(transport, question('/key-checks', body, o)),
  }
}

function tokenOperations(transport: Transport): TokenOperations {
  return {
    check: async (project, body, o = {}) =>
      ask(transport, question(`${projectPath(project)}/token-checks`, body, o)),
  }
}

function eventOperations(transport: Transport): EventOperations {
  const path = (project: string | undefined) =>
    project === undefined ? systemPath : `${projectPath(project)}${systemPath}`
  return {
    list: async ({ project, after, limit, ...o } = {}) =>
      ask(transport, { ...readList(path(project), o), query: { after, limit } }),
    follow: ({ project, ...o } = {}) => followEvents(transport, path(project), o),
  }
}

function apiKeyOperations(transport: Transport): ApiKeyOperations {
  return {
    list: async (o = {}) => ask(transport, readList('/api-keys', o)),
    get: async (id, o = {}) => ask(transport, read(apiKeyPath(id), o)),
    self: async (o = {}) => ask(transport, read('/api-keys/self', o)),
    create: async (body, o = {}) => ask(transport, create('/api-keys', body, o)),
    update: async (id, changes, o = {}) => ask(transport, patch(apiKeyPath(id), changes, o)),
    delete: async (id, o = {}) => tell(transport, remove(apiKeyPath(id), o)),
  }
}

function jwksOperations(transport: Transport): JwksOperations {
  const document = (project: string, name: string, o: CallOptions): Operation => {
    const path = `${projectPath(project)}/.well-known/${name}`
    return { ...read(path, o), access: 'public' }
  }
  return {
    get: async (project, o = {}) => ask(transport, document(project, 'jwks.json', o)),
    discovery: async (id, o = {}) => ask(transport, document(id, 'openid-configuration', o)),
  }
}
