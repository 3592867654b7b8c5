import { Text } from '@mantine/core'
import type { JwtKey } from '@pubring/client'

/** Whether the key is the only active one of its project. */
export function isLastActive(key: JwtKey, keys: JwtKey[]): boolean {
  return key.active && keys.filter(({ active }) => active).length === 1
}

/** Whether this expiry leaves no active key, earlier than the key's present one does. */
export function isLastToExpire(key: JwtKey, keys: JwtKey[], expireTime: string | undefined) {
  if (!key.active || expireTime === undefined) return false
  const outlives = (other: JwtKey) =>
    other.expireTime === undefined || other.expireTime > expireTime
  return (
    !keys.some((other) => other.active && other.id !== key.id && outlives(other)) && outlives(key)
  )
}

/** Warns about the expiry of the last active key. */
export function LastExpiryWarning() {
  return (
    <Text className="warning" fw={600} inherit>
      No other key is active after that: all tokens of this project stop verifying then, unless you
      register another key before.
    </Text>
  )
}

/** Warns about deactivating the last active keys. */
export function LastActiveWarning({ count = 1 }: { count?: number }) {
  return (
    <Text className="warning" fw={600} inherit>
      {count === 1 ? 'This is the last active key.' : 'These are the last active keys.'} All tokens
      of this project will stop verifying, within a second for verifiers that follow the key set
      live.
    </Text>
  )
}
