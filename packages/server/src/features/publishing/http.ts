import type { FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { describeCause, type ErrorCode, PubringError } from '../../errors.ts'
import { readerAccess } from '../../kernel/access/grants.ts'
import { parseProjectRef } from '../../kernel/access/projects.ts'
import type { ProjectRef } from '../../kernel/context.ts'
import { Type } from '../../kernel/contract.ts'
import { includesEntityTag, parseEntityTags } from '../../kernel/entity-tags.ts'
import { projectOf } from '../../kernel/http/hooks/access.ts'
import { publicRoute } from '../../kernel/http/hooks/headers.ts'
import type { Meters } from '../../kernel/http/http-side.ts'
import type { App } from '../../kernel/http/options.ts'
import { clientAddress } from '../../kernel/http/request/headers.ts'
import { KeyPath, ProjectPath } from '../../kernel/http/request/parameters.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { formatPosition, positionOf } from '../../kernel/ledger/position.ts'
import { staleAfterMs } from '../../kernel/ledger/revision-watch.ts'
import { keyHistoryOf } from '../keys/history/history.ts'
import { issuerOf } from '../keys/jwks.ts'
import { Discovery, Jwks, KeyHistory, Verifiers } from './contract.ts'
import { heldRequestsOf, type KeySetRequest } from './held-requests.ts'
import { publishedNamesOf, readPublished } from './names.ts'
import { heldSeconds, isFreshOnly, requireAccepted } from './preferences.ts'
import {
  type KeySetName,
  type PublishedDocument,
  type PublishedProject,
  pemOfKey,
  pemSet,
  publisherOf,
} from './publisher.ts'
import { keySetReadersOf, listVerifiers } from './readers.ts'

/** Reads who has had the key set. */
function verifiersRoute(app: App, kernel: Kernel): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/v1/projects/:projectIdOrName/verifiers',
    config: { access: readerAccess },
    schema: {
      operationId: 'listVerifiers',
      summary: 'List who has fetched the key set, as seen by this replica',
      description:
        'The user agents that have fetched the key set of the project from the replica that answers, since it started: the last 1,000, in its memory only. They are what clients call themselves. After a revocation `hasCurrentSet` says which have had a key set without the key. Not known are verifiers behind a cache, those that ask other replicas, and all but the last request of several with one user agent.',
      response: { 200: Verifiers },
    },
    handler: async (request, reply) => {
      const verifiers = await listVerifiers(kernel, projectOf(request).id)
      return reply.header('cache-control', 'no-store').send(verifiers)
    },
  })
}

export const publishedFolder = '/v1/projects/:projectIdOrName/.well-known'

/** Not `application/jwk-set+json` (RFC 7517 section 8.5.2), which many gateways do not know. */
const json = 'application/json'

const JwksHeaders = Type.Object({
  'If-None-Match': Type.Optional(
    Type.String({ description: 'The `ETag` of the key set that you have.' }),
  ),
  Prefer: Type.Optional(
    Type.String({
      description:
        '`wait=N` (RFC 7240), together with `If-None-Match`: respond when the key set changes, or after N seconds (at most 60).',
      examples: ['wait=30'],
    }),
  ),
})

interface KeySetRoute {
  url: string
  keySet: KeySetName
  operationId: string
  summary: string
  content: string
}

const keySetRoutes: readonly KeySetRoute[] = [
  {
    url: `${publishedFolder}/jwks.json`,
    keySet: 'jwks',
    operationId: 'getJwks',
    summary: 'The key set of a project',
    content:
      'the active RSA, EC and OKP keys (RFC 7517), which every verifier can read. ML-DSA keys are in jwks-full.json',
  },
  {
    url: `${publishedFolder}/jwks-full.json`,
    keySet: 'fullJwks',
    operationId: 'getFullJwks',
    summary: 'The key set of a project with its ML-DSA keys',
    content:
      'all active keys (RFC 7517), for verifiers that skip key types which they do not know. Others reject the whole set if it has an ML-DSA key',
  },
]

/** Where the discovery document is; only the first address is described. */
function discoveryUrls({ config }: Kernel): string[] {
  const { pathname } = new URL(config.publicUrl)
  return [
    `${publishedFolder}/openid-configuration`,
    // RFC 8414 section 3.1, and the form below the issuer, which some clients try.
    `/.well-known/oauth-authorization-server${pathname.replace(/\/$/, '')}/v1/projects/:projectIdOrName`,
    `${publishedFolder}/oauth-authorization-server`,
  ]
}

/** Public routes for verifiers: no API key, query, cookie or redirect. */
export function routes(app: App, kernel: Kernel): void {
  app.connections.putOffWhile(heldRequestsOf(kernel).isAnswering)
  for (const route of keySetRoutes) keySetRoute(app, kernel, route)
  for (const [index, url] of discoveryUrls(kernel).entries()) {
    const schema = index === 0 ? discoveryRoute.schema : { hide: true }
    documentRoute(app, kernel, { ...discoveryRoute, url, schema })
  }
  for (const route of pemRoutes) documentRoute(app, kernel, route)
  historyRoute(app, kernel)
  verifiersRoute(app, kernel)
  publisherOf(kernel).onUnreadable((error) => {
    const message = 'a project cannot be read, and its key set is served from memory'
    const line = { level: 'error', code: 'project_unreadable', message } as const
    app.countedLog.write({ ...line, cause: describeCause(error) })
  })
}

function keySetRoute(app: App, kernel: Kernel, route: KeySetRoute): void {
  const { url, keySet, operationId, summary, content } = route
  publicRoute<{ projectIdOrName: string }>(app, {
    url,
    config: {
      errors: ['project_not_found', 'storage_unavailable'],
      headers: ['Age', 'Content-Location', 'Preference-Applied', 'Pubring-Revision'],
      isInMemory: inMemory(kernel),
    },
    schema: {
      operationId,
      summary,
      description: `Returns ${content}. Changes appear within a second; an expired key disappears at its \`expireTime\`. While the database is unavailable, the last good key set is served for a limited time, with \`Age\` and \`max-age=0\`; with \`Cache-Control: stale-if-error=0\` (RFC 5861) the request gets 503 instead. With \`If-None-Match\` and \`Prefer: wait=N\` the request is held until the key set changes; each connection can hold one request at a time.`,
      params: ProjectPath,
      headers: JwksHeaders,
      response: { 200: Jwks },
    },
    handler: async (request, reply) => {
      const ref = parseProjectRef(request.params.projectIdOrName)
      const current = await readPublished(kernel, ref)
      requireAccepted(request.headers, current)
      const published = await waitForChange(kernel, { ref, keySet, current }, request, reply)
      requireAccepted(request.headers, published)
      nameProject(request, reply, kernel, ref, published)
      reusePublished(request, kernel, ref, published)
      noteReader(request, kernel, published)
      reply.header('pubring-revision', published.position)
      return sendDocument(reply, published, published[keySet], json)
    },
  })
}

/** Whether the documents of the project in the path are in memory. */
function inMemory(kernel: Kernel): (request: FastifyRequest) => boolean {
  const [names, publisher] = [publishedNamesOf(kernel), publisherOf(kernel)]
  return ({ params }) => {
    const { projectIdOrName } = params as { projectIdOrName: string }
    const id = names.known(parseProjectRef(projectIdOrName))
    return id !== undefined && publisher.isInMemory(id)
  }
}

/** Holds the request if it asks to wait and already has the current key set. */
async function waitForChange(
  kernel: Kernel,
  { current, ...named }: Pick<KeySetRequest, 'ref' | 'keySet'> & { current: PublishedProject },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<PublishedProject> {
  const { prefer, 'if-none-match': tags } = request.headers
  if (prefer === undefined || tags === undefined) return current
  const known = parseEntityTags(tags)
  if (known === undefined) return current
  const wait = heldSeconds(prefer, current.staleMs !== undefined)
  if (wait === undefined) return current
  const confirmWait = () => reply.header('preference-applied', `wait=${wait}`)
  if (!includesEntityTag(known, current[named.keySet].etag, 'weak')) {
    confirmWait()
    return current
  }
  const heldRequests = heldRequestsOf(kernel)
  let waiter: ReturnType<typeof heldRequests.wait>
  const endWait =
    wait === 0
      ? undefined
      : request.server.connections.startWait(request.raw.socket, () => waiter?.cancel())
  if (endWait === undefined) return current
  try {
    const [address, freshOnly] = [clientAddress(request), isFreshOnly(request.headers)]
    const waiting = { ...named, ifNoneMatch: known, address, freshOnly }
    waiter = heldRequests.wait(waiting, current, wait * 1000)
    if (waiter === undefined) return current
    confirmWait()
    const release = keySetReadersOf(kernel).hold(current, request.headers['user-agent'])
    return await waiter.result.finally(release)
  } finally {
    endWait()
  }
}

/** A document that is made of what a project publishes. */
interface DocumentRoute {
  url: string
  schema: FastifySchema
  errors?: readonly ErrorCode[]
  mediaType: string
  /** The error for a name in place of an id; absent if the document is available by both. */
  byIdOnly?: () => PubringError
  /** `kid`: the one in the path, if its pattern has one. */
  documentOf(published: PublishedProject, kid: string): PublishedDocument
}

function documentRoute(app: App, kernel: Kernel, route: DocumentRoute): void {
  const { url, schema, errors = [], mediaType, byIdOnly, documentOf } = route
  publicRoute<{ projectIdOrName: string; kid?: string }>(app, {
    url,
    config: {
      errors: ['project_not_found', 'storage_unavailable', ...errors],
      headers: ['Age', 'Content-Location'],
      isInMemory: inMemory(kernel),
    },
    schema,
    handler: async (request, reply) => {
      const { projectIdOrName, kid = '' } = request.params
      const ref = parseProjectRef(projectIdOrName)
      if ('name' in ref && byIdOnly !== undefined) throw byIdOnly()
      const published = await readPublished(kernel, ref)
      requireAccepted(request.headers, published)
      const document = documentOf(published, kid)
      nameProject(request, reply, kernel, ref, published)
      reusePublished(request, kernel, ref, published)
      if (mediaType === pem) noteReader(request, kernel, published)
      return sendDocument(reply, published, document, mediaType)
    },
  })
}

const historyUrl = `${publishedFolder}/key-history.json`

/** As fresh as the key sets: of the same head of the ledger, or a later one. */
function historyRoute(app: App, kernel: Kernel): void {
  const historyAt = keyHistoryOf(kernel)
  publicRoute<{ projectIdOrName: string }>(app, {
    url: historyUrl,
    config: {
      errors: ['project_not_found', 'storage_unavailable'],
      headers: ['Age', 'Content-Location', 'Pubring-Revision'],
    },
    schema: {
      operationId: 'getKeyHistory',
      summary: 'The keys that a project ever trusted, and when',
      description:
        'Every key that was ever active, with the times at which it was: in `keys` with its material, and in `deleted` the last 1,000 that were deleted. `keys` has the members of the historical keys of OpenID Federation 1.0 (section 8.7). It holds keys that must not be trusted any more: never configure it as the key set of a verifier. It is cached as the key set is.',
      params: ProjectPath,
      response: { 200: KeyHistory },
    },
    handler: async (request, reply) => {
      const ref = parseProjectRef(request.params.projectIdOrName)
      const published = await readPublished(kernel, ref)
      requireAccepted(request.headers, published)
      const { projectId, validity } = published
      const { revision, head, document } = await historyAt(projectId, published.head)
      const position = formatPosition(positionOf({ revision, hash: head }))
      const heads = [{ ledgerId: projectId, hash: head }]
      nameProject(request, reply, kernel, ref, published)
      reusePublished(request, kernel, ref, { ...published, validity: { ...validity, heads } })
      reply.header('pubring-revision', position)
      return sendDocument(reply, published, document, json)
    },
  })
}

const pem = 'application/x-pem-file'

const pemResponse = {
  200: { description: 'PEM (RFC 7468).', content: { [pem]: { schema: Type.String() } } },
}

const discoveryRoute: Omit<DocumentRoute, 'url'> = {
  schema: {
    operationId: 'getDiscovery',
    summary: 'The discovery document of a project',
    description:
      'OpenID Connect Discovery 1.0. Available by project id only: an issuer must equal the URL where it was found, and names change. The same document is at the address of RFC 8414, `/.well-known/oauth-authorization-server` followed by the path of the issuer.',
    response: { 200: Discovery },
  },
  errors: ['route_not_found'],
  mediaType: json,
  byIdOnly: () =>
    new PubringError(
      'route_not_found',
      'The discovery document is available by project id only, not by name: use /v1/projects/{id}/.well-known/openid-configuration. The key set is available by name too.',
    ),
  documentOf: (published) => published.discovery,
}

/** The keys for verifiers that read no JWKS, such as HAProxy and njs. */
const pemRoutes: readonly DocumentRoute[] = [
  {
    url: `${publishedFolder}/keys.pem`,
    schema: {
      operationId: 'getPublishedPem',
      summary: 'The keys of jwks.json as PEM',
      description:
        'A `PUBLIC KEY` block for each active RSA, EC and OKP key, after a line with its kid and alg. It is cached as the key set is; without an active key it has no block.',
      response: pemResponse,
    },
    mediaType: pem,
    documentOf: pemSet,
  },
  {
    url: `${publishedFolder}/:kid.pem`,
    schema: {
      operationId: 'getPublishedKeyPem',
      summary: 'An active key as PEM',
      description:
        'By its `kid` in the key set. A key that is not active is `key_not_found`. The key with the kid `keys` is in keys.pem only.',
      params: KeyPath,
      response: pemResponse,
    },
    errors: ['key_not_found'],
    mediaType: pem,
    documentOf(published, kid) {
      const document = pemOfKey(published, kid)
      if (document !== undefined) return document
      throw new PubringError(
        'key_not_found',
        'The key set of the project has no key with this kid: it is not active, or was never registered.',
      )
    },
  },
]

/** Tells a caller by name the address by id: names change, and the discovery document has none. */
function nameProject(
  { url }: FastifyRequest,
  reply: FastifyReply,
  { config }: Kernel,
  ref: ProjectRef,
  { projectId }: PublishedProject,
): void {
  if ('id' in ref) return
  const [, file] = /([^/?]*)(?:\?|$)/.exec(url) ?? []
  const issuer = issuerOf(config.publicUrl, projectId)
  reply.header('content-location', `${issuer}/.well-known/${file}`)
}

/** Sends the document unchanged: its ETag is a digest of exactly these bytes. */
function sendDocument(
  reply: FastifyReply,
  { maxAge, staleMs }: PublishedProject,
  document: PublishedDocument,
  mediaType: string,
) {
  // RFC 9111 section 5.1: in whole seconds.
  if (staleMs !== undefined) reply.header('age', Math.floor(staleMs / 1_000))
  return reply
    .header('content-type', mediaType)
    .header('cache-control', `public, max-age=${maxAge}`)
    .header('etag', document.etag)
    .send(document.body)
}

/** Lets the response cache reuse the documents while the publisher would serve the same. */
function reusePublished(
  request: FastifyRequest,
  kernel: Kernel,
  ref: ProjectRef,
  { projectId, validity, staleMs }: PublishedProject,
): void {
  const names = publishedNamesOf(kernel)
  const publisher = publisherOf(kernel)
  const dataAgeMs = () => publisher.ageMs(projectId)
  request.dataAgeMs = dataAgeMs()
  // The Age of a stale response differs with every request.
  if (staleMs !== undefined) return
  request.reuse = {
    validity,
    headsMatch: (heads) => names.isCurrent(ref, projectId) && publisher.headsMatch(heads),
    dataAgeMs,
  }
}

/** Notes who gets the keys, now and from the response cache. */
function noteReader(request: FastifyRequest, kernel: Kernel, published: PublishedProject): void {
  const { note } = keySetReadersOf(kernel)
  note(published, request.headers['user-agent'])
  if (request.reuse === undefined) return
  request.reuse.onReuse = ({ headers }) => void note(published, headers['user-agent'])
}

export function metrics(kernel: Kernel, { gauge, counter, histogram, onRequest }: Meters): void {
  gauge({
    name: 'pubring_held_requests',
    help: 'Requests for key sets that are held until the key set changes.',
    read: heldRequestsOf(kernel).count,
  })
  const served = counter({
    name: 'pubring_published_total',
    help: 'Requests for published documents that were served, or failed with 5xx, by status.',
    labelNames: ['status'],
  })
  const ages = histogram({
    name: 'pubring_published_age_seconds',
    help: 'Age of the database read that a served document is based on.',
    buckets: [0.1, 0.25, 0.5, 1, 5, 30, 60, 300, 600, 3_600],
  })
  const stale = counter({
    name: 'pubring_published_stale_total',
    help: 'Documents older than a second served while the database was unavailable.',
  })
  const urls = new Set<string | undefined>([
    ...discoveryUrls(kernel),
    ...[...keySetRoutes, ...pemRoutes, { url: historyUrl }].map(({ url }) => url),
  ])
  onRequest(({ dataAgeMs, status, route }) => {
    if (status >= 500 && urls.has(route)) served.inc({ status })
    if (dataAgeMs === undefined || status >= 400) return
    served.inc({ status })
    ages.observe(dataAgeMs / 1_000)
    if (dataAgeMs > staleAfterMs) stale.inc()
  })
}
