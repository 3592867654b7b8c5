import { Text } from '@mantine/core'
import type { JwtKey } from '../../../../client/src/index.ts'

/** Whether the key is the only active one of its project. */
export function isLastActive(key: JwtKey, keys: JwtKey[]): boolean {
  return key.active && keys.filter(({ active }) => active).length === 1
}

/** Warns about deactivating the last active key. */
export function LastActiveWarning() {
  return (
    <Text className="warning" fw={600} inherit>
      This is the last active key. All tokens of this project will stop verifying, within a second
      for verifiers that follow the key set live.
    </Text>
  )
}
