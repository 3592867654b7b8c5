import { Alert, Progress, Text } from '@mantine/core'
import { IconCircleCheck, IconHourglass } from '@tabler/icons-react'
import { useEffect, useRef } from 'react'
import { localTime, useNow } from './times.tsx'

/** Counts down to `until` (ISO 8601) under the title `waiting`, then shows `done`. */
export function Countdown(props: {
  from: string
  until: string
  waiting: string
  done: string
  /** The sentence for the time from `until` on; the time is appended. */
  since: string
  onDone?: () => void
}) {
  const { from, until, waiting, done, since, onDone } = props
  const now = useNow(250)
  const end = Date.parse(until)
  const start = Math.min(Date.parse(from), end - 1)
  const left = Math.max(0, Math.ceil((end - now) / 1_000))
  const notified = useRef(false)
  useEffect(() => {
    if (left > 0 || notified.current) return
    notified.current = true
    onDone?.()
  }, [left, onDone])
  if (left === 0) {
    return (
      <Alert color="teal" icon={<IconCircleCheck />} title={done} role="status">
        {since} {localTime(until)}.
      </Alert>
    )
  }
  return (
    <Alert color="petrol" icon={<IconHourglass />} title={waiting} role="status">
      <Text size="sm" mb={6} aria-live="off">
        {timeLeft(left)} left
      </Text>
      <Progress
        value={Math.min(100, ((now - start) / (end - start)) * 100)}
        aria-label="Elapsed time"
      />
    </Alert>
  )
}

/** Seconds in the largest unit of which there are at least two. */
function timeLeft(seconds: number): string {
  const units = [
    ['days', 86_400],
    ['hours', 3_600],
    ['minutes', 60],
  ] as const
  const [unit, length] = units.find(([, size]) => seconds >= 2 * size) ?? ['seconds', 1]
  return `${Math.ceil(seconds / length)} ${unit}`
}
