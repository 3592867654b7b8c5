import { Alert, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import type {
  AccessRule,
  AccessRuleCheck,
  AccessRuleCreate,
  AccessRuleUpdate,
} from '@pubring/client'
import { ErrorNotice } from '../../components/states.tsx'
import { UserText } from '../../components/text.tsx'
import { useApi } from '../../session/session.tsx'

type Concerned = NonNullable<AccessRuleCheck['people']>[number]

const effects: Record<Concerned['effect'], string> = { gains: 'Gain access', loses: 'Lose access' }
const list = new Intl.ListFormat('en')

type Impact =
  | { rule: AccessRule; change: AccessRuleUpdate }
  | { rule?: never; change: AccessRuleCreate }

const maxNamed = 20

/** Who would gain and who would lose access by a change of a rule for people, or by a new one. */
export function RuleImpact({ rule, change }: Impact) {
  const wanted = JSON.stringify(change)
  const [text] = useDebouncedValue(wanted, 300)
  const isConcerned = (rule ?? change).for === 'people' && wanted !== '{}'
  const { data, error, refetch } = useApi(
    ['access-rules', rule?.id ?? 'new', 'change', text],
    isConcerned &&
      text === wanted &&
      ((client, signal) =>
        rule === undefined
          ? client.accessRules.checkNew(change, { signal })
          : client.accessRules.check(rule.id, { change }, { signal })),
  )
  if (!isConcerned) return null
  if (error !== null) return <ErrorNotice error={error} retry={() => void refetch()} />
  if (text !== wanted || data === undefined) {
    return (
      <Text c="dimmed" role="status">
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
        <Text key={effect}>
          {label}: <UserText>{namesOf(people.filter((one) => one.effect === effect))}</UserText>
        </Text>
      ))}
      {lines.length === 0 && <Text>No one gains or loses access.</Text>}
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
