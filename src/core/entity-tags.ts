import { hash } from 'node:crypto'
import type { ApiKey } from '../contract/api-keys.ts'
import { PubringError } from '../errors.ts'
import { isActive } from './expiry.ts'
import { convergedTime } from './keys/jwks.ts'
import type { KeyRecord, ProjectRecord } from './records.ts'

/** A strong entity tag (RFC 9110 section 8.8.3): a digest of the content. */
export function entityTag(content: string | Uint8Array): string {
  return `"${hash('sha256', content, 'base64url').slice(0, 27)}"`
}

/**
 * The tag of a JWT key. It covers everything that a response shows of the key and that can change,
 * because `updateTime` alone does not tell apart two changes in one millisecond.
 */
export function keyEntityTag(key: KeyRecord, time: string, jwksMaxAge: number): string {
  const { id, updateTime, label, expireTime = '' } = key
  const converged = convergedTime(key, time, jwksMaxAge)
  const active = isActive(key, time)
  return entityTag(JSON.stringify([id, updateTime, label, active, expireTime, converged]))
}

/** The tag of a project. Its revision changes with everything that a response shows. */
export function projectEntityTag({ id, revision, name, updateTime }: ProjectRecord): string {
  return entityTag(JSON.stringify([id, revision, name, updateTime]))
}

/**
 * The tag of an API key without `lastUseTime`, so that a use does not fail an `If-Match`. Responses
 * with equal tags can therefore differ: never send 304 for them.
 */
export function apiKeyEntityTag(apiKey: ApiKey): string {
  const { id, name, role, projectId = '', active, createTime, expireTime = '' } = apiKey
  return entityTag(JSON.stringify([id, name, role, projectId, active, createTime, expireTime]))
}

/**
 * Whether an `If-Match` (strong comparison) or `If-None-Match` (weak comparison) lists the tag (RFC
 * 9110 section 8.8.3.2).
 */
export function matchesEntityTag(
  header: string,
  tag: string,
  comparison: 'strong' | 'weak',
): boolean {
  if (header === tag) return true
  return header.split(',').some((part) => {
    const candidate = part.trim()
    if (candidate === '*') return true
    return comparison === 'weak' ? candidate.replace(/^W\//, '') === tag : candidate === tag
  })
}

/** Throws `precondition_failed` unless `If-Match` is absent or lists the current tag. */
export function requireIfMatch(ifMatch: string | undefined, tag: string, resource: string): void {
  if (ifMatch !== undefined && !matchesEntityTag(ifMatch, tag, 'strong')) {
    throw new PubringError(
      'precondition_failed',
      `The ${resource} changed after you read it: If-Match does not list its current ETag. Read it again and repeat the change.`,
    )
  }
}
