import { hash } from 'node:crypto'
import type { ApiKey } from '../../contract/api-keys.ts'
import type { JwtKeyWithDetails } from '../../contract/keys.ts'
import { PubringError } from '../../errors.ts'
import type { KeyRecord, ProjectRecord } from '../records.ts'
import { convergedTime, isActive } from './jwks.ts'

/** A strong entity tag (RFC 9110 section 8.8.3) over the octets. */
export function entityTag(content: string | Uint8Array): string {
  return `"${hash('sha256', content, 'base64url').slice(0, 27)}"`
}

/**
 * The tag of one key: another one whenever what the key shows has changed, its expiry included, and
 * `convergedTime`, which the setting of `jwksMaxAge` moves. `updateTime` alone would not do: two
 * changes can fall into one millisecond.
 */
export function keyEntityTag(key: KeyRecord, time: string, jwksMaxAge: number): string {
  const details = { convergedTime: convergedTime(key, time, jwksMaxAge) }
  return shownKeyEntityTag({ ...key, active: isActive(key, time), details })
}

/** The same tag, from the key as it is shown. */
export function shownKeyEntityTag(
  key: Pick<JwtKeyWithDetails, 'id' | 'updateTime' | 'label' | 'active' | 'expireTime'> & {
    details: Pick<JwtKeyWithDetails['details'], 'convergedTime'>
  },
): string {
  const { id, updateTime, label, active, expireTime = '', details } = key
  return entityTag(
    JSON.stringify([id, updateTime, label, active, expireTime, details.convergedTime]),
  )
}

/** The tag of a project: its revision moves with everything that it shows. */
export function projectEntityTag({ id, revision, name, updateTime }: ProjectRecord): string {
  return entityTag(JSON.stringify([id, revision, name, updateTime]))
}

/**
 * The tag of an API key as it is shown, but for `lastUseTime`: its uses are no changes, and whoever
 * changes it with `If-Match` would be refused for each of them. So it is no reason for a 304.
 */
export function apiKeyEntityTag(apiKey: ApiKey): string {
  const { id, name, role, projectId = '', active, createTime, expireTime = '' } = apiKey
  return entityTag(JSON.stringify([id, name, role, projectId, active, createTime, expireTime]))
}

/**
 * Whether a list of entity tags, as `If-Match` or `If-None-Match` carry it, names the tag. `weak`
 * comparison (RFC 9110 section 8.8.3.2) is that of `If-None-Match`.
 */
export function matchesTag(header: string, tag: string, comparison: 'strong' | 'weak'): boolean {
  if (header === tag) return true
  return header.split(',').some((part) => {
    const candidate = part.trim()
    if (candidate === '*') return true
    return comparison === 'weak' ? candidate.replace(/^W\//, '') === tag : candidate === tag
  })
}

/** Throws `precondition_failed` unless `If-Match` is absent or names the present tag. */
export function requireMatch(ifMatch: string | undefined, tag: string, what: string): void {
  if (ifMatch !== undefined && !matchesTag(ifMatch, tag, 'strong')) {
    throw new PubringError(
      'precondition_failed',
      `The ${what} has changed since you read it (If-Match names another ETag). Read it again, then repeat.`,
    )
  }
}
