import { PubringError } from '../../../errors.ts'
import type { Voucher } from '../../../kernel/access/callers.ts'
import { isActive } from '../../../kernel/values/times.ts'
import type { KeyState } from '../stored.ts'

type Vouched = Pick<KeyState, 'id' | 'enabled' | 'expireTime' | 'introducedBy'>

/** The active keys that the key vouched for, directly or through others that may be inactive. */
export function activeVouched<Key extends Vouched>(
  keys: readonly Key[],
  kid: string,
  now: string,
): Key[] {
  const ids = new Set([kid])
  let before: number
  do {
    before = ids.size
    for (const key of keys) if (ids.has(key.introducedBy ?? '')) ids.add(key.id)
  } while (ids.size > before)
  return keys.filter((key) => key.id !== kid && ids.has(key.id) && isActive(key, now))
}

/** Names the keys that an ended key vouched for, and says what to do with them. */
export function vouchedDetail(vouched: readonly { id: string }[]): string {
  const kids = vouched.map(({ id }) => id).join(', ')
  return `It vouched for keys that are still active: ${kids}. If its private key may be in other hands, the holder may have added them: deactivate them too.`
}

/** Throws `key_not_vouched` unless it is the key that was vouched for, and the first time. */
export function requireSuccessor(
  { successor }: Voucher,
  { thumbprint }: { thumbprint: string },
  isFirst: boolean,
): void {
  if (thumbprint === successor && isFirst) return
  throw new PubringError(
    'key_not_vouched',
    `This API key registers only the key with the thumbprint ${successor}, and once. That of yours is ${thumbprint}.`,
  )
}
