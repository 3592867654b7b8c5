import {
  accessRuleOperations,
  apiKeyOperations,
  personOperations,
  sessionOperations,
} from './access.ts'
import { eventOperations } from './events.ts'
import {
  keyOperations,
  keyUseOperations,
  registrationLinkOperations,
  rotationOperations,
} from './keys.ts'
import { createSend, read, readList } from './operations.ts'
import type { CallOptions, ClientOptions } from './options.ts'
import { jwksOperations, logOperations, projectOperations, tokenOperations } from './projects.ts'
import { createTransport } from './transport/transport.ts'
import type { Search, Status, Warning } from './types.ts'

/**
 * The operations of one service. A `project` is an id or a name. Every operation throws only
 * `PubringError`.
 *
 * @example
 * const client: Client = createClient({ url, apiKey })
 */
export type Client = {
  /** The normalized URL of the service; ends in `/v1`. */
  url: string
  /**
   * Finds keys and projects that the API key may see, by id, hash, label or name; up to `limit` (1 to
   * 50, by default 20) of each. Send no private key, token or API key, which are rejected.
   */
  search(text: string, options?: CallOptions & { limit?: number }): Promise<Search>
  /** Lists keys and API keys that need attention before they break, the most urgent first. */
  warnings(options?: CallOptions): Promise<Warning[]>
  /** The versions and the database of the replica that answers. For admins and auditors of all projects. */
  status(options?: CallOptions): Promise<Status>
  /**
   * Projects. Each has its own JWT keys, issuer and JWKS.
   *
   * @example
   * for await (const { name } of client.projects.all()) console.log(name)
   */
  projects: ReturnType<typeof projectOperations>
  /**
   * JWT keys: the public keys that tokens are verified with.
   *
   * @example
   * const { kid } = await client.keys.create('payments', { name: 'spring', algorithm: 'RSA', publicKeyPem })
   * await client.keys.update('payments', kid, { active: false })
   */
  keys: ReturnType<typeof keyOperations>
  /**
   * Rotations: the replacement of keys, step by step. The service keeps their state.
   *
   * @example
   * const rotation = { from: oldKid, to: newKid, tokenLifetime: 900 }
   * const { id } = await client.rotations.start('payments', rotation)
   * await client.rotations.finish('payments', id)
   */
  rotations: ReturnType<typeof rotationOperations>
  /**
   * Reports of verifiers: which keys they have seen in use. What they add up to is at each key, in
   * `details.use`.
   *
   * @example
   * const uses = [{ kid, lastTime: new Date().toISOString() }]
   * await client.keyUses.report('payments', { reporter: 'orders-api', uses })
   */
  keyUses: ReturnType<typeof keyUseOperations>
  /**
   * Registration links, by which someone outside registers keys of a project.
   *
   * @example
   * const { url } = await client.registrationLinks.create('payments', { note: 'ACME Corp' })
   */
  registrationLinks: ReturnType<typeof registrationLinkOperations>
  /**
   * Tokens: explains why one verifies or not, and exchanges one for an API key.
   *
   * @example
   * const { valid, reason } = await client.tokens.check('payments', { token, audience: 'orders' })
   */
  tokens: ReturnType<typeof tokenOperations>
  /**
   * The ledger of a project; without `project`, the system's ledger.
   *
   * @example
   * for await (const { revision, type, subject } of client.events.follow({ project: 'payments' })) {
   *   console.log(revision, type, subject.id)
   * }
   */
  events: ReturnType<typeof eventOperations>
  /**
   * The log: one Merkle tree over the ledgers of all projects. `@pubring/client/log` verifies it.
   *
   * @example
   * const { proof } = await client.log.prove({ project: 'payments', revision: 7 })
   */
  log: ReturnType<typeof logOperations>
  /**
   * API keys: credentials of the callers of the service.
   *
   * @example
   * const { apiKey } = await client.apiKeys.create({ name: 'deploy', role: 'writer', project: 'payments' })
   */
  apiKeys: ReturnType<typeof apiKeyOperations>
  /**
   * Access rules: which claims give which role to people who sign in, and to workloads, whose tokens are
   * exchanged for API keys. For admins of all projects.
   *
   * @example
   * const rule = { for: 'people', name: 'platform', conditions: { groups: 'platform' } } as const
   * await client.accessRules.create({ ...rule, role: 'admin', allProjects: true })
   */
  accessRules: ReturnType<typeof accessRuleOperations>
  /**
   * Sessions: what people have in a browser instead of an API key. A client in a page of the service
   * uses the session of the browser with the API key `session` and a `fetch` that sends cookies.
   *
   * @example
   * for (const { name, lastUseTime } of await client.sessions.list()) console.log(name, lastUseTime)
   */
  sessions: ReturnType<typeof sessionOperations>
  /**
   * People who have signed in.
   *
   * @example
   * const people = await client.people.list()
   */
  people: ReturnType<typeof personOperations>
  /**
   * The documents published for verifiers. They need no API key, and none is sent.
   *
   * @example
   * const { issuer } = await client.jwks.discovery(project.id)
   */
  jwks: ReturnType<typeof jwksOperations>
}

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
    search: (text, { limit, ...options } = {}) =>
      send({ ...read('/search', 'results'), query: { q: text, limit } }, options),
    warnings: (options) => send(readList('/warnings'), options),
    status: (options) => send(read('/status', 'version'), options),
    projects: projectOperations(transport),
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
    people: personOperations(send),
    jwks: jwksOperations(send),
  }
}
