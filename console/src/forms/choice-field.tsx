import { SegmentedControl, Text } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useId } from 'react'
import { capitalized } from '../components/capitalized.ts'

/** One of a few choices, all of them in sight, with what the chosen one means. */
export function ChoiceField<Choice extends string>(props: {
  label: string
  choices: readonly Choice[]
  choice: Choice
  onChoice(choice: Choice): void
  description: string
  disabled?: boolean
}) {
  const { label, choices, choice, onChoice, description, disabled = false } = props
  const id = useId()
  const isNarrow = useMediaQuery('(max-width: 30em)')
  return (
    <div>
      <Text size="sm" fw={600} mb={4} id={id}>
        {label}
      </Text>
      <SegmentedControl
        aria-labelledby={id}
        data={choices.map((value) => ({ value, label: capitalized(value) }))}
        value={choice}
        onChange={onChoice}
        disabled={disabled}
        orientation={isNarrow && choices.length > 3 ? 'vertical' : 'horizontal'}
        fullWidth
      />
      <Text size="xs" c="dimmed" mt={4}>
        {description}
      </Text>
    </div>
  )
}
