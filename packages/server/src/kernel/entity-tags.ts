import { hash } from 'node:crypto'
import { canonicalJson } from '@pubring/client/internal/log/chain'
import { PubringError } from '../errors.ts'
import type { ProjectRecord } from './records.ts'

/** A strong entity tag (RFC 9110 section 8.8.3): a digest of the content. */
export function entityTag(content: string | Uint8Array): string {
  return tagOfDigest(hash('sha256', content, 'base64url'))
}

/** The same tag, of content with this SHA-256 in base64url. */
export function tagOfDigest(digest: string): string {
  return `"${digest.slice(0, 27)}"`
}

/** The tag of a project. Its revision changes with everything that a response shows. */
export function projectEntityTag({ id, revision, name, updateTime }: ProjectRecord): string {
  return entityTag(JSON.stringify([id, revision, name, updateTime]))
}

/** Members of some responses alone, and the last use, so that a use does not fail an `If-Match`. */
const unstable = {
  apiKey: undefined,
  notes: undefined,
  lastUseTime: undefined,
  lastExchangeTime: undefined,
}

/**
 * The tag of an API key or access rule: of all that responses show, but for what is not stable. Responses
 * with equal tags can therefore differ: never send 304 for them.
 */
export function recordEntityTag(shown: object): string {
  return entityTag(canonicalJson({ ...shown, ...unstable }))
}

/** The entity tags of an `If-Match` or `If-None-Match` header, weak ones with their `W/`. */
export type EntityTags = ReadonlySet<string>

/** A longer header is not parsed: 60,000 commas would take milliseconds for each request. */
const maxHeaderLength = 2_000
/** Clients send one or two; 10,000 held requests with 600 each would take 400 MB. */
const maxTags = 32

/** Parses the header once, so that it can be compared many times. Undefined if it is too long. */
export function parseEntityTags(header: string): EntityTags | undefined {
  if (header.length > maxHeaderLength) return undefined
  const tags = header.split(',', maxTags + 1)
  return tags.length > maxTags ? undefined : new Set(tags.map((tag) => tag.trim()))
}

/**
 * Whether the tags of an `If-Match` (strong comparison) or `If-None-Match` (weak comparison) include
 * this strong one (RFC 9110 section 8.8.3.2).
 */
export function includesEntityTag(
  tags: EntityTags,
  tag: string,
  comparison: 'strong' | 'weak',
): boolean {
  return tags.has(tag) || tags.has('*') || (comparison === 'weak' && tags.has(`W/${tag}`))
}

/**
 * Throws `precondition_failed` unless `If-Match` is absent or lists one of the tags that the resource
 * may have now, and `invalid_request` if it is too long to tell.
 */
export function requireIfMatch(
  ifMatch: string | undefined,
  current: string | readonly string[],
  resource: string,
): void {
  if (ifMatch === undefined) return
  const tags = parseEntityTags(ifMatch)
  if (tags === undefined) {
    throw new PubringError(
      'invalid_request',
      `If-Match has more than ${maxTags} entity tags or ${maxHeaderLength} characters. Send the ETag of the ${resource} alone.`,
    )
  }
  if ([current].flat().some((tag) => includesEntityTag(tags, tag, 'strong'))) return
  throw new PubringError(
    'precondition_failed',
    `The ${resource} changed after you read it: If-Match does not list its current ETag. Read it again and repeat the change.`,
  )
}
