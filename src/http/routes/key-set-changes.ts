import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { KeySetChange, KeySetChangesRequest } from '../../contract/published.ts'
import { Type } from '../../contract/schema.ts'
import { parseProjectRef } from '../../core/access/projects.ts'
import {
  type FollowedProject,
  type FollowedState,
  hasNews,
  keySetsTag,
  readFollowed,
  waitForAny,
} from '../../core/publishing/key-set-changes.ts'
import type { LiveServices } from '../../core/publishing/live.ts'
import { invalidField, PubringError } from '../../errors.ts'
import { openToAllOrigins, preflightRoute } from '../hooks/cross-origin.ts'
import type { App } from '../options.ts'
import { isFreshOnly, requireAccepted } from '../request/cache-control.ts'
import { clientAddress } from '../request/client-address.ts'
import { heldSeconds } from '../request/prefer.ts'

/** With the id or name as the caller wrote it. */
interface NamedProject extends FollowedProject {
  name: string
}

/** Follows many projects over one connection, which a request for `jwks.json` does for one. */
export function keySetChangesRoute(app: App, live: LiveServices): void {
  const url = '/v1/key-set-changes'
  preflightRoute(app, url, 'POST')
  app.route({
    method: 'POST',
    url,
    onRequest: openToAllOrigins,
    config: { headers: ['Age', 'Preference-Applied'], errors: ['storage_unavailable'] },
    schema: {
      operationId: 'getKeySetChanges',
      summary: 'The changed key sets of several projects',
      description:
        'Returns the key sets of those projects whose `etag` differs from that of the request. With `Prefer: wait=N` (at most 60) and no difference, the request is held until there is one, or for N seconds. A project that cannot be read is always part of the response: leave it out of the next requests for a while. `Age` tells how many seconds ago the oldest of the key sets was read from the database.',
      headers: Type.Object({
        Prefer: Type.Optional(Type.String({ examples: ['wait=30'] })),
      }),
      body: KeySetChangesRequest,
      response: { 200: Type.Array(KeySetChange) },
    },
    handler: async (request, reply) => {
      const projects = request.body.projects.map(({ project, etag }) => {
        return { name: project, ref: parseProjectRef(project), etag }
      })
      requireDistinct(projects)
      const states = await waitForNews(live, projects, request, reply)
      requireAllAccepted(request, states)
      const age = Math.floor(staleMsOf(states) / 1_000)
      if (age > 0) reply.header('age', age)
      return sendChanges(reply, states.filter(hasNews))
    },
  })
}

/** Throws `invalid_request` if a project is named twice, also with other capital letters. */
function requireDistinct(projects: readonly NamedProject[]): void {
  const seen = new Set<string>()
  for (const [index, { ref }] of projects.entries()) {
    const key = 'id' in ref ? ref.id : ref.name
    if (seen.has(key)) {
      const detail = 'projects has this project twice. Name each one once.'
      throw invalidField(`/projects/${index}/project`, 'repeated', detail)
    }
    seen.add(key)
  }
}

/** The state of the projects; if the request asks to wait, once one has news or the time is over. */
async function waitForNews(
  live: LiveServices,
  projects: NamedProject[],
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FollowedState<NamedProject>[]> {
  const { headers, raw, server } = request
  const states = await readFollowed(live, projects)
  requireAllAccepted({ headers }, states)
  const wait = heldSeconds(headers.prefer, staleMsOf(states) > 0) ?? 0
  if (wait === 0) return states
  const isHeld = !states.some(hasNews)
  const address = clientAddress(request)
  const options = { address, waitMs: wait * 1_000, freshOnly: isFreshOnly(headers) }
  const waiting = isHeld ? waitForAny(live, states, options) : undefined
  const endWait = waiting && server.connections.startWait(raw.socket, waiting.cancel)
  if (isHeld && endWait === undefined) {
    waiting?.cancel()
    return states
  }
  reply.header('preference-applied', `wait=${wait}`)
  try {
    await waiting?.result
  } finally {
    endWait?.()
  }
  return isHeld ? readFollowed(live, projects) : states
}

/** As for a single key set, since a load balancer asks for both in the same way. */
function requireAllAccepted(
  { headers }: Pick<FastifyRequest, 'headers'>,
  states: readonly FollowedState<NamedProject>[],
): void {
  for (const { published } of states) {
    if (!(published instanceof PubringError)) requireAccepted(headers, published)
  }
}

/**
 * Sends the response project by project, as the client reads it: 100 key sets are 10 MB, which must
 * not wait in memory for each client that reads slowly.
 */
function sendChanges(reply: FastifyReply, states: readonly FollowedState<NamedProject>[]) {
  return reply
    .header('content-type', 'application/json')
    .header('cache-control', 'no-store')
    .send(Readable.from(changeTexts(states)))
}

function* changeTexts(states: readonly FollowedState<NamedProject>[]): Generator<string> {
  for (const [index, state] of states.entries()) yield (index === 0 ? '[' : ',') + changeText(state)
  yield states.length === 0 ? '[]' : ']'
}

/** A `KeySetChange`, with the bytes of the published key sets. */
function changeText({ project, published }: FollowedState<NamedProject>): string {
  const name = JSON.stringify(project.name)
  if (published instanceof PubringError) {
    const { code, message } = published
    return `{"project":${name},"problem":${JSON.stringify({ code, detail: message })}}`
  }
  const { projectId, maxAge, jwks, fullJwks, discovery } = published
  const etag = JSON.stringify(keySetsTag(published))
  return `{"project":${name},"projectId":"${projectId}","etag":${etag},"maxAge":${maxAge},"jwks":${jwks.body},"fullJwks":${fullJwks.body},"discovery":${discovery.body}}`
}

/** The age of the oldest stale key sets in milliseconds, or 0. */
function staleMsOf(states: readonly FollowedState<NamedProject>[]): number {
  return states.reduce(
    (oldest, { published }) =>
      published instanceof PubringError ? oldest : Math.max(oldest, published.staleMs ?? 0),
    0,
  )
}
