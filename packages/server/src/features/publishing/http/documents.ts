import type { FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import type { ErrorCode, PubringError } from '../../../errors.ts'
import { parseProjectRef } from '../../../kernel/access/projects.ts'
import type { ProjectRef } from '../../../kernel/context.ts'
import type { ResponseHeader } from '../../../kernel/http/decorations.ts'
import { publicRoute } from '../../../kernel/http/hooks/headers.ts'
import type { App } from '../../../kernel/http/options.ts'
import type { Kernel } from '../../../kernel/kernel.ts'
import { oneFor } from '../../../kernel/shared.ts'
import { present } from '../../../runtime/present.ts'
import { issuerOf } from '../../keys/jwks.ts'
import { publishedNamesOf, readPublished } from '../names.ts'
import { requireAccepted } from '../preferences.ts'
import { type PublishedDocument, type PublishedProject, publisherOf } from '../publisher.ts'
import { keySetReadersOf } from '../readers.ts'

export const publishedFolder = '/v1/projects/:projectIdOrName/.well-known'

/** Not `application/jwk-set+json` (RFC 7517 section 8.5.2), which many gateways do not know. */
export const json = 'application/json'

/** What a caller knows of the project, and what it publishes now. */
export interface Published {
  ref: ProjectRef
  current: PublishedProject
}

/** A document, with the head of the ledger that it rests on if that may be later than the publisher's. */
type OwnDocument = PublishedDocument & Partial<Pick<PublishedProject, 'position' | 'validity'>>

/** A document that is made of what a project publishes. */
export interface DocumentRoute {
  url: string
  schema: FastifySchema
  errors?: readonly ErrorCode[]
  headers?: readonly ResponseHeader[]
  mediaType: string
  /** The error for a name in place of an id; absent if the document is available by both. */
  byIdOnly?: () => PubringError
  /** Whether those who get it can verify tokens. */
  hasKeys?: true
  /** Whether it is made with other reads, which an overloaded server refuses. */
  readsMore?: true
  /** Waits for a change, if the request asks for that. */
  wait?(known: Published, request: FastifyRequest, reply: FastifyReply): Promise<PublishedProject>
  /** `kid`: the one in the path, if its pattern has one. */
  documentOf(published: PublishedProject, kid: string): OwnDocument | Promise<OwnDocument>
}

/** The patterns of the routes of documents, as the records of requests have them. */
export const documentUrlsOf = oneFor((_kernel: Kernel) => new Set<string | undefined>())

export function documentRoute(app: App, kernel: Kernel, route: DocumentRoute): void {
  const { url, schema, errors = [], headers = [], mediaType, byIdOnly, documentOf } = route
  documentUrlsOf(kernel).add(url)
  publicRoute<{ projectIdOrName: string; kid?: string }>(app, {
    url,
    config: {
      errors: ['project_not_found', 'storage_unavailable', ...errors],
      headers: ['Age', 'Content-Location', ...headers],
      ...present({ isInMemory: route.readsMore ? undefined : inMemory(kernel) }),
    },
    schema,
    handler: async (request, reply) => {
      const { projectIdOrName, kid = '' } = request.params
      const ref = parseProjectRef(projectIdOrName)
      if ('name' in ref && byIdOnly !== undefined) throw byIdOnly()
      const current = await readPublished(kernel, ref)
      requireAccepted(request.headers, current)
      const published = (await route.wait?.({ ref, current }, request, reply)) ?? current
      requireAccepted(request.headers, published)
      const served = { ...published, ...(await documentOf(published, kid)) }
      nameProject(request, reply, kernel, ref, served)
      reusePublished(request, kernel, ref, served)
      if (route.hasKeys) noteReader(request, kernel, published)
      if (headers.includes('Pubring-Revision')) reply.header('pubring-revision', served.position)
      return sendDocument(reply, served, mediaType)
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
  { body, etag, maxAge, staleMs }: PublishedProject & PublishedDocument,
  mediaType: string,
) {
  // RFC 9111 section 5.1: in whole seconds.
  if (staleMs !== undefined) reply.header('age', Math.floor(staleMs / 1_000))
  return reply
    .header('content-type', mediaType)
    .header('cache-control', `public, max-age=${maxAge}`)
    .header('etag', etag)
    .send(body)
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
