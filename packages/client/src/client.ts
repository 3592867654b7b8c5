import type {
  AccessRuleOperations,
  ApiKeyOperations,
  Client,
  ClientOptions,
  JwksOperations,
  LogOperations,
  ProjectOperations,
  TokenOperations,
} from './api.ts'
import type { CallOptions } from './call-options.ts'
import { eventOperations } from './events.ts'
import type {
  KeyOperations,
  KeyUseOperations,
  RegistrationLinkOperations,
  RotationOperations,
} from './key-api.ts'
import {
  create,
  createSend,
  nextPage,
  patch,
  read,
  readList,
  readPublic,
  remove,
  repeatable,
  type Send,
  withConditions,
} from './operations.ts'
import { peopleOperations, sessionOperations } from './sign-in.ts'
import {
  createTransport,
  type Operation,
  type Transport,
  tokenExchange,
} from './transport/transport.ts'
import type { Project, ProjectHealth } from './types.ts'
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
  const send = createSend(transport)
  return {
    url: transport.url,
    search: async (text, { limit, ...options } = {}) =>
      send({ ...read('/search'), query: { q: text, limit } }, options),
    warnings: async (options = {}) => send(readList('/warnings'), options),
    status: async (options = {}) => send(read('/status'), options),
    projects: projectOperations(send, transport),
    keys: keyOperations(send),
    rotations: rotationOperations(send),
    keyUses: keyUseOperations(send),
    registrationLinks: registrationLinkOperations(send),
    tokens: tokenOperations(send),
    events: eventOperations(transport),
    log: logOperations(send),
    apiKeys: apiKeyOperations(send),
    accessRules: accessRuleOperations(send),
    sessions: sessionOperations(send),
    people: peopleOperations(send),
    jwks: jwksOperations(send),
  }
}

const post = (path: string): Operation => ({ method: 'POST', path, retry: 'if-not-processed' })

const projectPath = (project: string) => `/projects/${pathSegment(project, 'project')}`
const keysPath = (project: string) => `${projectPath(project)}/jwt-keys`
const keyPath = (project: string, kid: string) => `${keysPath(project)}/${pathSegment(kid, 'kid')}`
const apiKeyPath = (id: string) => `/api-keys/${pathSegment(id, 'API key id')}`
function projectOperations(send: Send, transport: Transport): ProjectOperations {
  const readPage =
    <Item>(path: string) =>
    async ({ limit, after, ...options }: CallOptions & { limit?: number; after?: string } = {}) => {
      const operation = { ...readList(path, { limit, after }), ...options }
      const { body, headers } = await transport.send(operation)
      const next = nextPage(headers, transport.url)?.get('after') ?? undefined
      return { items: body as Item[], ...(next === undefined ? {} : { next }) }
    }
  const list = readPage<Project>('/projects')
  return {
    list,
    health: readPage<ProjectHealth>('/project-health'),
    async *all(options = {}) {
      let after: string | undefined
      do {
        const page = await list({ ...options, limit: 200, ...(after && { after }) })
        yield* page.items
        after = page.next
      } while (after !== undefined)
    },
    get: async (project, options = {}) => send(read(projectPath(project)), options),
    create: async (body, { release, ...options } = {}) =>
      send({ ...create('/projects', body), query: { release } }, options),
    rename: async (project, name, { release, ...options } = {}) =>
      send({ ...patch(projectPath(project), { name }), query: { release } }, options),
    delete: async (project, options = {}) => {
      // By the time of a retry the name may belong to another project; an id never does.
      const retry = /^[0-9a-f-]{36}$/i.test(project) ? 'always' : 'if-not-processed'
      return send({ ...remove(projectPath(project)), retry }, options)
    },
  }
}

function keyOperations(send: Send): KeyOperations {
  return {
    list: async (project, { active, ...options } = {}) =>
      send(readList(keysPath(project), { active }), options),
    get: async (project, kid, options = {}) => send(read(keyPath(project, kid)), options),
    states: async (project, options = {}) =>
      send(readList(`${projectPath(project)}/key-states`), options),
    create: async (project, body, options = {}) => send(create(keysPath(project), body), options),
    update: async (project, kid, changes, options = {}) =>
      send(withConditions(patch(keyPath(project, kid), changes), options), options),
    delete: async (project, kid, options = {}) =>
      send(withConditions(remove(keyPath(project, kid)), options), options),
    end: async (project, kid, token, options = {}) => {
      const operation = repeatable(`${keyPath(project, kid)}/end`, { token })
      return send({ ...operation, access: 'public' }, options)
    },
    import: async (project, body, options = {}) =>
      send(repeatable(`${projectPath(project)}/key-imports`, body), options),
    check: async (body, options = {}) => send(repeatable('/key-checks', body), options),
  }
}

function rotationOperations(send: Send): RotationOperations {
  const all = (project: string) => `${projectPath(project)}/rotations`
  const one = (project: string, id: string) => `${all(project)}/${pathSegment(id, 'rotation id')}`
  return {
    list: async (project, options = {}) => send(readList(all(project)), options),
    get: async (project, id, options = {}) => send(read(one(project, id)), options),
    start: async (project, body, options = {}) => send(create(all(project), body), options),
    update: async (project, id, changes, options = {}) =>
      send(withConditions(patch(one(project, id), changes), options), options),
    finish: async (project, id, options = {}) => send(post(`${one(project, id)}/finish`), options),
    abandon: async (project, id, options = {}) =>
      send(withConditions(remove(one(project, id)), options), options),
  }
}

function keyUseOperations(send: Send): KeyUseOperations {
  const all = (project: string) => `${projectPath(project)}/key-uses`
  return {
    report: async (project, body, options = {}) => send(create(all(project), body), options),
    reporters: async (project, options = {}) => send(readList(all(project)), options),
    removeReporter: async (project, reporter, options = {}) =>
      send(remove(`${all(project)}/${pathSegment(reporter, 'reporter')}`), options),
    verifiers: async (project, options = {}) =>
      send(read(`${projectPath(project)}/verifiers`), options),
  }
}

function registrationLinkOperations(send: Send): RegistrationLinkOperations {
  const all = (project: string) => `${projectPath(project)}/registration-links`
  const one = (project: string, id: string) => `${all(project)}/${pathSegment(id, 'link id')}`
  return {
    list: async (project, options = {}) => send(readList(all(project)), options),
    get: async (project, id, options = {}) => send(read(one(project, id)), options),
    create: async (project, body, options = {}) => send(create(all(project), body), options),
    delete: async (project, id, options = {}) => send(remove(one(project, id)), options),
  }
}

function tokenOperations(send: Send): TokenOperations {
  return {
    check: async (project, body, options = {}) =>
      send(repeatable(`${projectPath(project)}/token-checks`, body), options),
    exchange: async (body, options = {}) => send(tokenExchange(body), options),
  }
}

function logOperations(send: Send): LogOperations {
  return {
    prove: async ({ project, revision, ...options } = {}) => {
      const path = project === undefined ? '/ledger-proof' : `${projectPath(project)}/ledger-proof`
      return send({ ...read(path), query: { revision } }, options)
    },
    checkpoint: async (options = {}) =>
      send({ ...post('/log/checkpoints'), retry: 'always' }, options),
    restart: async (options = {}) => send(post('/log/restarts'), options),
  }
}

function apiKeyOperations(send: Send): ApiKeyOperations {
  return {
    list: async ({ exchanged, ...options } = {}) =>
      send(readList('/api-keys', { exchanged }), options),
    get: async (id, options = {}) => send(read(apiKeyPath(id)), options),
    self: async (options = {}) => send(read('/api-keys/self'), options),
    create: async (body, options = {}) => send(create('/api-keys', body), options),
    update: async (id, changes, options = {}) =>
      send(withConditions(patch(apiKeyPath(id), changes), options), options),
    delete: async (id, options = {}) =>
      send(withConditions(remove(apiKeyPath(id)), options), options),
  }
}

function accessRuleOperations(send: Send): AccessRuleOperations {
  const path = (id: string) => `/access-rules/${pathSegment(id, 'access rule id')}`
  return {
    list: async (options = {}) => send(readList('/access-rules'), options),
    get: async (id, options = {}) => send(read(path(id)), options),
    create: async (body, options = {}) => send(create('/access-rules', body), options),
    update: async (id, changes, options = {}) =>
      send(withConditions(patch(path(id), changes), options), options),
    delete: async (id, options = {}) => send(withConditions(remove(path(id)), options), options),
    check: async (id, body, options = {}) => send(repeatable(`${path(id)}/checks`, body), options),
    checkNew: async (body, options = {}) => send(repeatable('/access-rules/checks', body), options),
  }
}

function jwksOperations(send: Send): JwksOperations {
  const path = (project: string, name: string) => `${projectPath(project)}/.well-known/${name}`
  return {
    get: async (project, options = {}) =>
      send(readPublic(path(project, 'jwks-full.json')), options),
    history: async (project, options = {}) =>
      send(readPublic(path(project, 'key-history.json')), options),
    discovery: async (id, options = {}) =>
      send(readPublic(path(id, 'openid-configuration')), options),
  }
}
