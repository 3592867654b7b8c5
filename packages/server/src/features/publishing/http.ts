import type { FastifyReply, FastifyRequest } from 'fastify'
import { describeCause, PubringError } from '../../errors.ts'
import { Type } from '../../kernel/contract.ts'
import { includesEntityTag, parseEntityTags } from '../../kernel/entity-tags.ts'
import type { Meters } from '../../kernel/http/http-side.ts'
import type { App } from '../../kernel/http/options.ts'
import { clientAddress } from '../../kernel/http/request/headers.ts'
import { KeyPath, ProjectPath } from '../../kernel/http/request/parameters.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { staleAfterMs } from '../../kernel/ledger/revision-watch.ts'
import { Discovery, Jwks } from './contract.ts'
import { heldRequestsOf } from './held-requests.ts'
import {
  type DocumentRoute,
  documentRoute,
  documentUrlsOf,
  json,
  type Published,
  publishedFolder,
} from './http/documents.ts'
import { heldSeconds, isFreshOnly } from './preferences.ts'
import {
  discovery,
  type KeySetName,
  type PublishedProject,
  pemOfKey,
  pemSet,
  publisherOf,
} from './publisher.ts'
import { keySetReadersOf } from './readers.ts'

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
  for (const route of keySetRoutes(kernel)) documentRoute(app, kernel, route)
  for (const [index, url] of discoveryUrls(kernel).entries()) {
    const schema = index === 0 ? discoveryRoute.schema : { hide: true }
    const documentOf = (published: PublishedProject) => discovery(kernel.config, published)
    documentRoute(app, kernel, { ...discoveryRoute, url, schema, documentOf })
  }
  for (const route of pemRoutes) documentRoute(app, kernel, route)
  publisherOf(kernel).onUnreadable((error) => {
    const message = 'a project cannot be read, and its key set is served from memory'
    const line = { level: 'error', code: 'project_unreadable', message } as const
    app.countedLog.write({ ...line, cause: describeCause(error) })
  })
}

const keySetRoutes = (kernel: Kernel): DocumentRoute[] => [
  keySetRoute(kernel, 'jwks', {
    url: `${publishedFolder}/jwks.json`,
    operationId: 'getJwks',
    summary: 'The key set of a project',
    content:
      'the active RSA, EC and OKP keys (RFC 7517), which every verifier can read. ML-DSA keys are in jwks-full.json',
  }),
  keySetRoute(kernel, 'fullJwks', {
    url: `${publishedFolder}/jwks-full.json`,
    operationId: 'getFullJwks',
    summary: 'The key set of a project with its ML-DSA keys',
    content:
      'all active keys (RFC 7517), for verifiers that skip key types which they do not know. Others reject the whole set if it has an ML-DSA key',
  }),
]

function keySetRoute(
  kernel: Kernel,
  keySet: KeySetName,
  { url, content, ...schema }: Record<'url' | 'operationId' | 'summary' | 'content', string>,
): DocumentRoute {
  return {
    url,
    schema: {
      ...schema,
      description: `Returns ${content}. Changes appear within a second; an expired key disappears at its \`expireTime\`. While the database is unavailable, the last good key set is served for a limited time, with \`Age\` and \`max-age=0\`; with \`Cache-Control: stale-if-error=0\` (RFC 5861) the request gets 503 instead. With \`If-None-Match\` and \`Prefer: wait=N\` the request is held until the key set changes; each connection can hold one request at a time.`,
      params: ProjectPath,
      headers: JwksHeaders,
      response: { 200: Jwks },
    },
    headers: ['Preference-Applied', 'Pubring-Revision'],
    mediaType: json,
    hasKeys: true,
    wait: (known, ...exchange) => waitForChange(kernel, { ...known, keySet }, ...exchange),
    documentOf: (published) => published[keySet],
  }
}

/** Holds the request if it asks to wait and already has the current key set. */
async function waitForChange(
  kernel: Kernel,
  { current, ...named }: Published & { keySet: KeySetName },
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

const pem = 'application/x-pem-file'

const pemResponse = {
  200: { description: 'PEM (RFC 7468).', content: { [pem]: { schema: Type.String() } } },
}

const discoveryRoute: Omit<DocumentRoute, 'url' | 'documentOf'> = {
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
    hasKeys: true,
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
    hasKeys: true,
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
  const urls = documentUrlsOf(kernel)
  onRequest(({ dataAgeMs, status, route }) => {
    if (status >= 500 && urls.has(route)) served.inc({ status })
    if (dataAgeMs === undefined || status >= 400) return
    served.inc({ status })
    ages.observe(dataAgeMs / 1_000)
    if (dataAgeMs > staleAfterMs) stale.inc()
  })
}
