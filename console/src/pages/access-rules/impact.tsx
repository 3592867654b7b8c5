import { Alert, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import type { AccessRule, AccessRuleCheck, AccessRuleUpdate } from '@pubring/client'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { UserText } from '../../components/user-text.tsx'
import { useApi } from '../../session/api.ts'

type Concerned = NonNullable<AccessRuleCheck['people']>[number]

const effects: Record<Concerned['effect'], string> = { gains: 'Gain access', loses: 'Lose access' }
const list = new Intl.ListFormat('en')

/** People who are named. */
const maxNamed = 20

/** Who would gain and who would lose access by a change of a rule for people. */
export function RuleImpact({ rule, change }: { rule: AccessRule; change: AccessRuleUpdate }) {
  const wanted = JSON.stringify(change)
  const [text] = useDebouncedValue(wanted, 300)
  const isConcerned = rule.for === 'people' && wanted !== '{}'
  const { data, error, refetch } = useApi(
    ['access-rules', rule.id, 'change', text],
    (client, signal) => client.accessRules.check(rule.id, { change: JSON.parse(text) }, { signal }),
    { enabled: isConcerned && text === wanted },
  )
  if (!isConcerned) return null
  if (error !== null) return <ErrorNotice error={error} retry={() => void refetch()} />
  if (text !== wanted || data === undefined) {
    return (
      <Text size="sm" c="dimmed" role="status">
        Checking who gains or loses access…
      </Text>
    )
  }
  const { people = [] } = data
  const has = (effect: string) => people.some((one) => one.effect === effect)
  const lines = Object.entries(effects).filter(([effect]) => has(effect))
  return (
    <Alert color={has('loses') ? 'yellow' : 'gray'} role="status" title="Who is concerned">
      {lines.map(([effect, label]) => (
        <Text key={effect} size="sm" style={{ overflowWrap: 'anywhere' }}>
          {label}: <UserText>{namesOf(people.filter((one) => one.effect === effect))}</UserText>
        </Text>
      ))}
      {lines.length === 0 && <Text size="sm">No one gains or loses access.</Text>}
      <Text size="xs" c="dimmed" mt={4}>
        Of those who signed in within the last 30 days, by their claims then.
      </Text>
    </Alert>
  )
}

function namesOf(people: readonly Concerned[]): string {
  const named = people
    .toSorted((one, other) => Number(other.self) - Number(one.self))
    .slice(0, maxNamed)
    .map(({ name, self }) => (self ? `you (${name})` : name))
  const others = people.length - named.length
  return list.format(others > 0 ? [...named, `${others} more`] : named)
}
