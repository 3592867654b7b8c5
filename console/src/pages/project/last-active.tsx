import { Text } from '@mantine/core'
import type { JwtKey } from '../../../../client/src/index.ts'

/** Whether no other key of the project is active. */
export function isLastActive(key: JwtKey, keys: JwtKey[]): boolean {
  return key.active && keys.filter(({ active }) => active).length === 1
}

/** What switching off the last active key does. */
export function LastActive() {
  return (
    <Text className="grave" fw={600} inherit>
      This is the last active key: every token of this project stops verifying, within a second
      where verifiers follow the key set live.
    </Text>
  )
}
