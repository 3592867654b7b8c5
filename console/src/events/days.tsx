import { Button, Group } from '@mantine/core'
import { DaySection, dayOf } from '../components/calendar.tsx'
import { EmptyState } from '../components/states.tsx'
import { EventEntry, type EventView, ExpiryEntry } from './entry.tsx'
import type { useHistory } from './query.ts'

/** The entries grouped by day in the local time zone, and a button for older ones. */
export function Days(props: ReturnType<typeof useHistory> & EventView & { isFiltered?: boolean }) {
  const { query, entries, isFiltered = false, ...view } = props
  const ofNone = isFiltered ? 'No matching events' : 'No events'
  return (
    <>
      {entries.length === 0 && (
        <EmptyState title={query.hasNextPage ? 'None so far' : ofNone}>
          {query.hasNextPage
            ? 'The search of older events is not finished.'
            : isFiltered && 'Change the filters. Names, emails and ids have to be whole.'}
        </EmptyState>
      )}
      {[...Map.groupBy(entries, ({ time }) => dayOf(time))].map(([day, ofDay]) => (
        <DaySection key={day} time={ofDay[0]?.time ?? day}>
          <ol className="entries">
            {ofDay.map((entry) =>
              'event' in entry ? (
                <EventEntry
                  key={`${entry.event.projectId} ${entry.event.revision}`}
                  event={entry.event}
                  {...view}
                />
              ) : (
                <ExpiryEntry key={`${entry.expiry.kid} ${entry.time}`} expiry={entry.expiry} />
              ),
            )}
          </ol>
        </DaySection>
      ))}
      {query.hasNextPage && (
        <Group justify="center" mt="md">
          <Button
            variant="default"
            loading={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            Load older events
          </Button>
        </Group>
      )}
    </>
  )
}
