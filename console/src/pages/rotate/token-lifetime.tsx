import { NumberInput } from '@mantine/core'

/** Minutes as they were typed, as seconds; undefined if they are no lifetime. */
export function toTokenLifetime(minutes: string): number | undefined {
  const seconds = Math.round(Number(minutes) * 60)
  return seconds >= 1 ? seconds : undefined
}

export const fromTokenLifetime = (seconds: number): string => String(seconds / 60)

export const TokenLifetimeField = (props: { value: string; onValue(minutes: string): void }) => (
  <NumberInput
    label="Maximum token lifetime in minutes"
    description="exp minus iat of your tokens. The old key stays active for as long after the switch."
    value={props.value}
    onChange={(value) => props.onValue(String(value))}
    min={0}
    max={525_600}
    maw={460}
  />
)
