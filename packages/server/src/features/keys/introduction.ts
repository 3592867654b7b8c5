import { jwsAlgorithmOf } from '@pubring/intake/algorithms'
import type { FieldError } from '../../errors.ts'
import type { CallerLink } from '../../kernel/access/callers.ts'
import { isExpired } from '../../kernel/values/times.ts'
import type { JwtKeyCreate } from './contract.ts'
import type { KeyRecord } from './stored.ts'

/** Begins the `introducedBy` of keys that came through a registration link. */
export const linkPrefix = 'link:'

/** The `introducedBy` of keys that were registered through the registration link. */
export function introducedByLink(id: string): string {
  return `${linkPrefix}${id}`
}

export function isThroughLink({ introducedBy }: Pick<KeyRecord, 'introducedBy'>): boolean {
  return introducedBy?.startsWith(linkPrefix) === true
}

/** The keys that the caller may see: with a registration link those that came through it, otherwise all. */
export function visibleKeys<Key extends Pick<KeyRecord, 'introducedBy'>>(
  keys: readonly Key[],
  link: Pick<CallerLink, 'id'> | undefined,
): readonly Key[] {
  if (link === undefined) return keys
  return keys.filter(({ introducedBy }) => introducedBy === introducedByLink(link.id))
}

/** Whether the key came through a registration link, and nobody has activated it yet or given it an end. */
export function awaitsApproval(
  key: Pick<KeyRecord, 'introducedBy' | 'enabled' | 'expireTime' | 'endReason' | 'endTime'>,
  now: string,
): boolean {
  const hasEnded = key.endTime !== undefined || key.endReason !== undefined || isExpired(key, now)
  return !key.enabled && !hasEnded && isThroughLink(key)
}

/** The members that the holder of the registration link may not send. */
export function linkFaults(
  { active, publishedKid, algorithm }: Partial<JwtKeyCreate>,
  { newKeys, algorithms }: CallerLink,
): FieldError[] {
  const faults: FieldError[] = []
  if (algorithm && algorithms && !algorithms.includes(jwsAlgorithmOf(algorithm))) {
    const detail = `The registration link takes keys for ${algorithms.join(', ')} only.`
    faults.push({ pointer: '/algorithm', code: 'algorithm_not_allowed', detail })
  }
  if (active === true && newKeys === 'inactive') {
    const detail = 'Keys of this registration link wait for approval: leave active out.'
    faults.push({ pointer: '/active', code: 'link_forbids', detail })
  }
  if (publishedKid !== undefined) {
    const detail = 'Through a registration link every key gets a new kid: leave publishedKid out.'
    faults.push({ pointer: '/publishedKid', code: 'link_forbids', detail })
  }
  return faults
}
