import { Text } from '@mantine/core'
import type { SignInRule } from '../../../client/src/index.ts'
import { UserText } from './user-text.tsx'

/** Conditions as a list such as: groups = "platform". */
export function ConditionList({ conditions }: { conditions: SignInRule['conditions'] }) {
  return (
    <div>
      {Object.entries(conditions).map(([claim, value]) => (
        <Text key={claim} size="sm" className="mono" style={{ overflowWrap: 'anywhere' }}>
          <UserText>{`${claim} = ${JSON.stringify(value)}`}</UserText>
        </Text>
      ))}
    </div>
  )
}
