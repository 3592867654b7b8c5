import { hostname } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import { projectIdOf } from '@pubring/client/internal/key-set/address'
import { KeySetError } from '@pubring/client/internal/key-set/errors'
import {
  fetchKeySet,
  type KeySetResponse,
  notAKeySet,
} from '@pubring/client/internal/key-set/fetch'
import { formatHead, goesBack, type Head } from '@pubring/client/internal/key-set/head'
import { normalizeUrl } from '@pubring/client/internal/validation'
import { parseId } from '@pubring/server/kernel/values/ids'
import { isObject } from '@pubring/server/runtime/json'
import { type PublishedKey, type PublishedKeys, parseKeys } from './published-keys.ts'

/** How much later a response may come before the connection is given up. */
export const graceMs = 5_000

interface KeySetQuery {
  /** Base URL of the server. */
  url: string
  signal: AbortSignal
  /** How long the server may hold the request while the key set has the known entity tag. */
  waitSeconds: number
  known: PublishedKeys | undefined
}

/** The full key set of a project. */
export interface FoundKeySet {
  response: KeySetResponse
  projectId: string
  /** Undefined if it has not changed. */
  keys: PublishedKey[] | undefined
}

/** Asks for the full key set of the project with this id or name. */
export async function findKeySet(ref: string, query: KeySetQuery): Promise<FoundKeySet> {
  const response = await get(ref, 'jwks-full.json', query)
  const keys = parseKeys(response.body)
  const mayBeUnchanged = response.body === undefined && query.known?.etag !== undefined
  if (keys === undefined && !mayBeUnchanged) throw notAKeySet(query.url)
  const projectId = parseId(ref) ?? projectIdOf(response.contentLocation)
  if (projectId !== undefined) return { response, projectId, keys }
  throw new KeySetError(
    'key_set_unavailable',
    'The response does not tell the id of the project (Content-Location). Does a proxy remove the header? Name the project by its id.',
  )
}

/**
 * The documents of the project, of which the others are asked for unless they cannot have changed: the
 * project has the same revision, and the connection held.
 */
export async function readDocuments(
  project: string,
  { response, projectId, keys }: FoundKeySet,
  query: KeySetQuery,
): Promise<PublishedKeys> {
  const { known, waitSeconds } = query
  const { etag, head } = response
  const isSame = keys === undefined && head !== undefined && isDeepStrictEqual(head, known?.head)
  if (known !== undefined && isSame && waitSeconds > 0) return known
  const plain = { ...query, waitSeconds: 0, known: undefined }
  const [jwks, discovery] = await Promise.all([
    get(projectId, 'jwks.json', plain),
    get(projectId, 'openid-configuration', plain),
  ])
  const fullJwks = keys ?? known?.fullJwks
  const commonJwks = parseKeys(jwks.body)
  if (commonJwks === undefined || fullJwks === undefined || !isObject(discovery.body)) {
    throw notAKeySet(query.url)
  }
  // Kept with the newer head, it would not be asked for again until the next change.
  checkHead(head, jwks)
  const documents = { jwks: commonJwks, fullJwks, discovery: discovery.body }
  return { project, projectId, etag, head: head ?? known?.head, ...documents }
}

/** A cache may have this copy of jwks.json beside a jwks-full.json of a replica that is behind. */
export class CopyError extends KeySetError {}

/**
 * Throws if jwks.json does not belong to the head of jwks-full.json. A later one is taken from the server
 * alone: a copy may be of a history that was lost.
 */
function checkHead(head: Head | undefined, { head: other, age }: KeySetResponse): void {
  if (head === undefined || other === undefined) return
  const isCopy = age !== undefined
  const isOther = goesBack(head, other) || (isCopy && goesBack(other, head))
  if (isOther) throw differs(formatHead(head), formatHead(other), isCopy)
}

function differs(full: string, common: string, isCopy: boolean): KeySetError {
  return isCopy
    ? new CopyError(
        'key_set_unavailable',
        `A cache has jwks.json of ${common}, and jwks-full.json is of ${full}. The change is taken over when the copy expires, or at once if the cache passes on requests with Cache-Control: no-cache.`,
      )
    : new KeySetError(
        'key_set_history_changed',
        `jwks.json is of ${common} and jwks-full.json of ${full}: one replica of the server is behind another, or has another history.`,
      )
}

/** Names the follower, so that the server can tell which ones have had a key set. */
const namedFetch: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers)
  headers.set('user-agent', `pubring-follow (${hostname()})`)
  return fetch(input, { ...init, headers })
}

function get(
  ref: string,
  name: string,
  { url, signal, waitSeconds, known }: KeySetQuery,
): Promise<KeySetResponse> {
  const timeoutMs = waitSeconds * 1_000 + graceMs
  const [address, etag] = [documentUrl(url, ref, name), known?.etag]
  return fetchKeySet({ url: address, fetch: namedFetch, etag, waitSeconds, timeoutMs, signal })
}

export function documentUrl(url: string, ref: string, name: string): string {
  return `${normalizeUrl(url)}/projects/${encodeURIComponent(ref)}/.well-known/${name}`
}
