import { Text } from '@mantine/core'
import { EventEntry, ExpiryEntry } from './entry.tsx'
import type { Entry } from './expiries.ts'
import type { Filter } from './filter.ts'
import type { NameOf } from './sentences.ts'

/** The entries grouped by day in the local time zone. */
export function Days(props: {
  entries: Entry[]
  loggedUpTo: number | undefined
  nameOf?: NameOf
  onFilter(part: Partial<Filter>): void
}) {
  const { entries, loggedUpTo, nameOf = () => undefined, onFilter } = props
  const days = Map.groupBy(entries, ({ time }) =>
    new Date(time).toLocaleDateString(undefined, { dateStyle: 'full' }),
  )
  return [...days].map(([day, ofDay]) => (
    <section key={day} aria-label={day}>
      <Text size="sm" c="dimmed" fw={600} mt="xs">
        {day}
      </Text>
      <ol className="entries">
        {ofDay.map((entry) =>
          'event' in entry ? (
            <EventEntry
              key={entry.event.revision}
              event={entry.event}
              isLogged={loggedUpTo === undefined ? undefined : entry.event.revision <= loggedUpTo}
              nameOf={nameOf}
              onFilter={onFilter}
            />
          ) : (
            <ExpiryEntry key={`${entry.expiry.kid} ${entry.time}`} expiry={entry.expiry} />
          ),
        )}
      </ol>
    </section>
  ))
}
