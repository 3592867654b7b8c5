import type { IncomingHttpHeaders } from 'node:http'
import { entityTag, includesEntityTag, parseEntityTags } from '@pubring/server/kernel/entity-tags'
import type { Clock } from '@pubring/server/runtime/clock'
import { listen, type Reply } from '../listen.ts'
import { ageMsOf, type Followed, problemOf, shownOf } from './followed.ts'
import { jwksText } from './formats.ts'
import { followerMetrics } from './metrics.ts'
import type { PublishedKeys } from './published-keys.ts'

/** The followed projects, with what their requests need. */
interface Followers {
  followed: readonly Followed[]
  clock: Clock
  onStale: 'keep' | 'empty'
}

const documentPath =
  /^\/v1\/projects\/([^/]+)\/\.well-known\/(jwks\.json|jwks-full\.json|openid-configuration)$/

/**
 * Serves the key sets at the paths of the server, for caches of at most a second. Throws `AgentError` if
 * it cannot listen.
 */
export function serveKeySets(address: { host: string; port: number }, served: Followers) {
  const { followed, clock } = served
  return listen(address, {
    problem: () => problemOf(followed),
    metrics: () => followerMetrics(followed, clock),
    document: (path, headers, url) => replyTo(path, headers, served, url),
  })
}

function replyTo(
  path: string,
  headers: IncomingHttpHeaders,
  { followed, clock, onStale }: Followers,
  url: string,
): Reply {
  const [, name = '', document = ''] = documentPath.exec(path) ?? []
  const one = findProject(followed, decode(name))
  if (one === undefined) return { status: 404, text: 'This project is not followed.\n' }
  const keys = shownOf(one, onStale)
  if (keys === undefined) {
    return { status: 503, text: 'The key set has not been received yet.\n' }
  }
  const age = one.isLost ? Math.floor(ageMsOf(one, clock) / 1_000) : 0
  return documentReply(documentText(document, keys, url), age, headers)
}

function findProject(followed: readonly Followed[], nameOrId: string): Followed | undefined {
  const named = followed.find(({ project }) => project === nameOrId)
  return named ?? followed.find(({ keys }) => keys?.projectId === nameOrId)
}

function documentText(name: string, keys: PublishedKeys, url: string): string {
  if (name === 'jwks.json') return jwksText(keys.jwks)
  if (name === 'jwks-full.json') return jwksText(keys.fullJwks)
  const jwksUri = `${url}/v1/projects/${keys.projectId}/.well-known/jwks.json`
  return JSON.stringify({ ...keys.discovery, jwks_uri: jwksUri })
}

function documentReply(text: string, age: number, headers: IncomingHttpHeaders): Reply {
  const etag = entityTag(text)
  const known = parseEntityTags(headers['if-none-match'] ?? '')
  const isKnown = known !== undefined && includesEntityTag(known, etag, 'weak')
  return {
    status: isKnown ? 304 : 200,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'public, max-age=1',
      etag,
      ...(age > 0 ? { age } : {}),
    },
    text: isKnown ? '' : text,
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
