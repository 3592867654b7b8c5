import { Button, Group, NativeSelect, Text } from '@mantine/core'
import type { KeyState } from '@pubring/client'
import { IconSearch } from '@tabler/icons-react'
import { capitalized } from '../../../components/user-text.tsx'
import { TextField } from '../../../forms/text-fields.tsx'
import { useTyped } from '../../../forms/typed.ts'
import { keyStates } from '../../../keys/state-words.ts'
import type { KeyRow } from '../../../keys/states.ts'
import { expiryLabels, type ListQuery } from './query.ts'

type FilterProps = {
  /** All keys of the project. */
  keys: KeyRow[]
  /** The rows that match all filters but the state. */
  matching: KeyRow[]
  query: ListQuery
  onQuery(part: Partial<ListQuery>): void
}

/** The filters of the list: text, state, algorithm and expiry. */
export function ListFilters({ keys, matching, query, onQuery }: FilterProps) {
  const algorithms = [...new Set(keys.map(({ algorithm }) => algorithm))].sort()
  const search = useTyped({ value: query.text, onValue: (text) => onQuery({ text }) })
  const select = (event: { currentTarget: { value: string } }) => event.currentTarget.value
  return (
    <search aria-label="Keys">
      <StateTabs matching={matching} state={query.state} onState={(state) => onQuery({ state })} />
      <Group gap="xs" mb="sm" className="filters">
        <TextField
          aria-label="Filter keys"
          placeholder="Filter by label or kid"
          leftSection={<IconSearch size={16} aria-hidden />}
          {...search}
          autoComplete="off"
        />
        <NativeSelect
          aria-label="Algorithm"
          data={[{ value: '', label: 'Any algorithm' }, ...algorithms]}
          value={query.algorithm}
          onChange={(event) => onQuery({ algorithm: select(event) })}
        />
        <NativeSelect
          aria-label="Expiry"
          data={Object.entries(expiryLabels).map(([value, label]) => ({ value, label }))}
          value={query.expiry}
          onChange={(event) => onQuery({ expiry: select(event) as ListQuery['expiry'] })}
        />
      </Group>
    </search>
  )
}

/** The states with their numbers of keys; one is chosen, or all. */
function StateTabs(props: {
  matching: KeyRow[]
  state: KeyState | ''
  onState(state: KeyState | ''): void
}) {
  const { matching, state, onState } = props
  const count = (each: KeyState) => matching.filter((key) => key.state === each).length
  const choices = [
    { value: '' as const, label: 'All', size: matching.length },
    ...keyStates
      .map((value) => ({ value, label: value, size: count(value) }))
      .filter(({ value, size }) => size > 0 || value === state),
  ]
  return (
    <Group gap={6} mb="sm" role="group" aria-label="State">
      {choices.map(({ value, label, size }) => (
        <Button
          key={value}
          className="state-tab"
          variant={value === state ? 'light' : 'subtle'}
          color={value === state ? 'petrol' : 'gray'}
          size="xs"
          aria-pressed={value === state}
          onClick={() => onState(value)}
        >
          {capitalized(label)}
          <Text span className="state-count">
            {size.toLocaleString()}
          </Text>
        </Button>
      ))}
    </Group>
  )
}
