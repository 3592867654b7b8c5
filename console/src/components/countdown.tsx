import { Progress, Text } from '@mantine/core'
import type { JwtKeyWithDetails } from '@pubring/client'
import { Notice } from './states.tsx'
import { localTime, timeLeft, useNow } from './text.tsx'

/** Counts down to `until` (ISO 8601) under the title `waiting`, then shows `done`. */
export function Countdown(props: {
  from: string
  until: string
  waiting: string
  done: string
  /** The sentence for the time from `until` on; the time is appended. */
  since: string
}) {
  const { from, until, waiting, done, since } = props
  const now = useNow(250)
  const end = Date.parse(until)
  const start = Math.min(Date.parse(from), end - 1)
  const left = Math.max(0, Math.ceil((end - now) / 1_000))
  if (left === 0) {
    return (
      <Notice tone="good" title={done} role="status">
        {since} {localTime(until)}.
      </Notice>
    )
  }
  return (
    <Notice tone="waiting" title={waiting} role="status">
      <Text mb={6} aria-live="off">
        {timeLeft(until, now)} left
      </Text>
      <Progress
        value={Math.min(100, ((now - start) / (end - start)) * 100)}
        aria-label="Elapsed time"
      />
    </Notice>
  )
}

type NewKey = Pick<JwtKeyWithDetails, 'updateTime' | 'details'>

/** Counts down to when verifiers know a new key, and one can sign with it. */
export const NewKeyCountdown = ({ updateTime, details }: NewKey) => (
  <Countdown
    from={updateTime}
    until={details.convergedTime}
    waiting="Wait before you sign: verifiers are still loading the key"
    done="You can sign with it now"
    since="All verifiers that honor the cache headers have known the key since"
  />
)
