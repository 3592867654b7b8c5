import { List } from '@mantine/core'
import type { ReactNode } from 'react'
import { Notice } from '../../components/states.tsx'
import { clockTime, quoted, useTimeLeft } from '../../components/text.tsx'
import type { KeyRow } from '../../keys/queries.ts'

/** Says of keys that have just ended by when verifiers reject them, to screen readers too. */
export function Revocations({ rows }: { rows: KeyRow[] }) {
  const ended = rows.filter(({ active, convergedTime }) => !active && convergedTime !== undefined)
  const [row] = ended
  const until = ended.flatMap(({ convergedTime }) => convergedTime ?? []).sort()
  return (
    <div role="status">
      {row !== undefined && (
        <Notice tone="waiting" mb="sm">
          {ended.length === 1
            ? `${quoted(row.label)} is ${row.state}. Verifiers that honor the cache headers reject it by `
            : `${ended.length.toLocaleString()} keys are off. Verifiers that honor the cache headers reject them by `}
          {clockTime(until.at(-1) ?? '')} <TimeLeft until={until.at(-1) ?? ''} />
        </Notice>
      )}
    </div>
  )
}

/** Hidden from screen readers, which would read it every second. */
const TimeLeft = ({ until }: { until: string }) => <span aria-hidden>({useTimeLeft(until)})</span>

/** Which verifiers reject a deactivated key, and when; `cached` is for those with a copy. `children` are further items. */
export function Obedience(props: { cached?: string; children?: ReactNode }) {
  const { cached = 'When their copy expires, after a minute by default', children } = props
  return (
    <List size="sm" spacing="xs">
      <List.Item>
        <b>Within a second:</b> verifiers that follow the key set live, followers and all other held
        requests.
      </List.Item>
      <List.Item>
        <b>{cached}:</b> verifiers and caches that honor the cache headers.
      </List.Item>
      <List.Item>
        <b>Later:</b> libraries that keep keys by rules of their own, most for 5 to 10 minutes, some
        until they are restarted.
      </List.Item>
      {children}
    </List>
  )
}
