import { Group, Select, Stack, Text } from '@mantine/core'
import type { AccessRule } from '@pubring/client'
import { IconPlus, IconX } from '@tabler/icons-react'
import { IconButton, ToolButton } from '../components/buttons.tsx'
import { fieldOf, TextField } from './text-fields.tsx'

type Conditions = AccessRule['conditions']

const types = ['text', 'number', 'true or false'] as const
type Condition = { claim: string; value: string; type: (typeof types)[number] }

/** Conditions as typed, in one text, so that a draft can hold them. */
export function conditionsToInput(conditions: Conditions): string {
  const rows = Object.entries(conditions).map(([claim, value]): Condition => {
    const type =
      typeof value === 'number' ? 'number' : typeof value === 'boolean' ? 'true or false' : 'text'
    return { claim, value: String(value), type }
  })
  return JSON.stringify(rows)
}

const parse = (input: string): Condition[] => JSON.parse(input === '' ? '[]' : input)

/** The complete conditions of the input. */
export function conditionsOf(input: string): Conditions {
  const complete = parse(input).filter(({ claim, value }) => claim.trim() !== '' && value !== '')
  return Object.fromEntries(complete.map((one) => [one.claim.trim(), typedValue(one)]))
}

export function claimsWithoutValue(input: string): string[] {
  return parse(input).flatMap(({ claim, value }) =>
    claim.trim() !== '' && value === '' ? [claim.trim()] : [],
  )
}

function typedValue({ value, type }: Condition): string | number | boolean {
  if (type === 'number' && Number.isFinite(Number(value))) return Number(value)
  return type === 'true or false' ? value === 'true' : value
}

/** The merge patch (RFC 7396) from one set of conditions to another; undefined if they are equal. */
export function conditionsPatch(
  before: Conditions,
  after: Conditions,
): Record<string, Conditions[string] | null> | undefined {
  const removed = Object.keys(before).filter((name) => !(name in after))
  const changed = Object.entries(after).filter(([name, value]) => before[name] !== value)
  if (removed.length + changed.length === 0) return undefined
  return Object.fromEntries([...removed.map((name) => [name, null] as const), ...changed])
}

export function ConditionsField(props: { input: string; onInput(input: string): void }) {
  const rows = parse(props.input)
  const shown: Condition[] = rows.length === 0 ? [{ claim: '', value: '', type: 'text' }] : rows
  const store = (next: Condition[]) => props.onInput(JSON.stringify(next))
  const change = (index: number, part: Partial<Condition>) =>
    store(shown.map((row, position) => (position === index ? { ...row, ...part } : row)))
  return (
    <Stack gap="xs" role="group" aria-label="Conditions">
      <div>
        <Text fw={600}>Conditions</Text>
        <Text size="xs" c="dimmed">
          All must be met. A text that ends in * matches everything that begins so. Of a list, one
          element must match. A name that begins with / is a JSON pointer.
        </Text>
      </div>
      {shown.map((row, index) => (
        <ConditionRow
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity but their position
          key={index}
          row={row}
          number={index + 1}
          onChange={(part) => change(index, part)}
          onRemove={() => store(shown.filter((_, position) => position !== index))}
        />
      ))}
      <IconButton
        variant="default"
        size="compact-sm"
        Icon={IconPlus}
        label="Add a condition"
        onClick={() => store([...shown, { claim: '', value: '', type: 'text' }])}
        style={{ alignSelf: 'start' }}
      />
    </Stack>
  )
}

function ConditionRow(props: {
  row: Condition
  number: number
  onChange(part: Partial<Condition>): void
  onRemove(): void
}) {
  const { row, number, onChange, onRemove } = props
  return (
    <Group gap="xs" align="flex-start">
      <TextField
        aria-label={`Claim ${number}`}
        placeholder="claim"
        {...fieldOf(row, onChange, 'claim')}
        flex={1}
        miw={120}
      />
      <TextField
        aria-label={`Value ${number}`}
        placeholder="value"
        {...fieldOf(row, onChange, 'value')}
        flex={1}
        miw={120}
      />
      <Select
        aria-label={`Type ${number}`}
        data={[...types]}
        value={row.type}
        onChange={(type) => onChange({ type: types.find((each) => each === type) ?? 'text' })}
        allowDeselect={false}
        w={110}
      />
      <ToolButton
        variant="subtle"
        color="gray"
        Icon={IconX}
        label={`Remove condition ${number}`}
        onClick={onRemove}
      />
    </Group>
  )
}
