import { Group, Stack, Text, ThemeIcon } from '@mantine/core'
import type { TokenCheckOutcome } from '@pubring/client'
import { IconAlertTriangle, IconCheck, IconEqualNot, IconMinus, IconX } from '@tabler/icons-react'
import { CopyBlock } from './copy.tsx'
import { UserText } from './text.tsx'

/** How each outcome is shown; a step after the failed one has none. */
const looks = {
  passed: { name: 'passed', Icon: IconCheck, color: 'teal', variant: 'light' },
  failed: { name: 'failed', Icon: IconX, color: 'red.8', variant: 'filled' },
  warned: { name: 'warning', Icon: IconAlertTriangle, color: 'yellow.8', variant: 'light' },
  skipped: { name: 'not compared', Icon: IconEqualNot, color: 'gray', variant: 'light' },
  unreached: { name: 'not reached', Icon: IconMinus, color: 'gray', variant: 'light' },
} as const

type Result = { step: string; outcome: TokenCheckOutcome; detail: string }

export function CheckSteps(props: {
  names: (readonly [step: string, label: string])[]
  results: Result[]
}) {
  return (
    <Stack component="ol" gap="sm" p={0} m={0} style={{ listStyle: 'none' }}>
      {props.names.map(([step, label]) => (
        <CheckStep
          key={step}
          label={label}
          result={props.results.find((each) => each.step === step)}
        />
      ))}
    </Stack>
  )
}

function CheckStep({ label, result }: { label: string; result: Result | undefined }) {
  const { name, Icon, color, variant } = looks[result?.outcome ?? 'unreached']
  const isCompared = result !== undefined && result.outcome !== 'skipped'
  return (
    <Group component="li" wrap="nowrap" align="flex-start" gap="sm" data-step={name}>
      <ThemeIcon size={22} radius="xl" variant={variant} color={color} role="img" aria-label={name}>
        <Icon size={14} />
      </ThemeIcon>
      <div>
        <Text fw={isCompared ? 600 : 400} {...(isCompared ? {} : { c: 'dimmed' })}>
          {label}
        </Text>
        {result && (
          <Text c="dimmed">
            <UserText>{result.detail}</UserText>
          </Text>
        )}
      </div>
    </Group>
  )
}

const escaped = (text: string) =>
  text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** A titled object as indented JSON, in which characters that would reorder or hide text are escaped. */
export function JsonView({ title, value }: { title: string; value: Record<string, unknown> }) {
  const json = JSON.stringify(value, null, 2).replace(/[\u2028\u2029\p{Cf}]/gu, escaped)
  return (
    <div>
      <Text fw={600} mb={4}>
        {title}
      </Text>
      <CopyBlock value={json} name={title} />
    </div>
  )
}
