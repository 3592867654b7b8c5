import { Box, Button, Group, Stack, Text, ThemeIcon } from '@mantine/core'
import type { Expiry, HistoryEvent } from '@pubring/client'
import {
  IconAlarm,
  IconAlertTriangle,
  IconChevronDown,
  IconMinus,
  IconPencil,
  IconPlus,
} from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { DaySection, dayOf } from '../components/calendar.tsx'
import { CopyField } from '../components/copy.tsx'
import { Disclosure } from '../components/disclosure.tsx'
import { EmptyState } from '../components/states.tsx'
import { clockTime, exactTime, localTime, TimeText, UserText } from '../components/text.tsx'
import { ActorDetails, ActorName, actorId } from './actor.tsx'
import { type Filter, noFilter } from './filter.ts'
import type { useHistory } from './query.ts'
import { changePhrases, type NameOf, type Sentence, sentenceOf, toneOf } from './sentences.ts'

const tones = {
  added: { color: 'teal', icon: IconPlus },
  removed: { color: 'orange', icon: IconMinus },
  alarming: { color: 'red', icon: IconAlertTriangle },
  neutral: { color: 'gray', icon: IconPencil },
}

type EventView = {
  /** Whether the events are those of all ledgers; they name theirs. */
  ofAll?: boolean
  /** Undefined while it is unknown whether the log has the event. */
  isLogged?(event: HistoryEvent): boolean | undefined
  nameOf?: NameOf
  onFilter(part: Partial<Filter>): void
}

type EntryProps = { event: HistoryEvent } & EventView

function EventEntry({ event, ...view }: EntryProps) {
  const { ofAll = false, isLogged, nameOf = () => undefined, onFilter } = view
  const { color, icon } = tones[toneOf(event)]
  const row = (opened: boolean) => (
    <EntryRow
      color={color}
      icon={icon}
      sentence={<SentenceText sentence={sentenceOf(event, event.label, nameOf)} />}
      details={
        <>
          <TimeOfDay time={event.time} /> · <ActorName actor={event.actor} /> ·{' '}
          {ofAll && `${event.projectName ?? event.projectId ?? 'registry'} `}#{event.revision}
          {isLogged?.(event) === false && ' · not in the log yet'}
        </>
      }
      end={
        <IconChevronDown
          size={16}
          style={{ transform: opened ? 'rotate(180deg)' : undefined, flex: 'none' }}
          aria-hidden
        />
      }
    />
  )
  return (
    <li data-revision={event.revision}>
      <Disclosure w="100%" py={8} button={row}>
        <Details event={event} ofAll={ofAll} onFilter={onFilter} />
      </Disclosure>
    </li>
  )
}

/** The expiry of a key, of which the ledger has no event of its own. */
function ExpiryEntry({ expiry }: { expiry: Expiry }) {
  const { label, time, setBy } = expiry
  return (
    <li data-expiry={expiry.kid}>
      <Box py={8}>
        <EntryRow
          color="orange"
          icon={IconAlarm}
          sentence={
            <>
              Key <Quoted>{label}</Quoted> expired
            </>
          }
          details={
            <>
              <TimeOfDay time={time} /> · by the end that{' '}
              {setBy === undefined ? (
                'was set earlier'
              ) : (
                <>
                  <ActorName actor={setBy.actor} /> set on {localTime(setBy.time)}
                </>
              )}
            </>
          }
        />
      </Box>
    </li>
  )
}

/** The time with seconds; the day is above. */
const TimeOfDay = ({ time }: { time: string }) => <TimeText time={time}>{clockTime(time)}</TimeText>

function EntryRow(props: {
  color: string
  icon: typeof IconAlarm
  sentence: ReactNode
  details: ReactNode
  end?: ReactNode
}) {
  const { color, icon: Icon, sentence, details, end } = props
  return (
    <Group wrap="nowrap" align="flex-start" gap="sm">
      <ThemeIcon variant="light" color={color} size={28} radius="xl" aria-hidden>
        <Icon size={15} />
      </ThemeIcon>
      <div style={{ flex: 1, minWidth: 0 }}>
        <Text>{sentence}</Text>
        <Text size="xs" c="dimmed">
          {details}
        </Text>
      </div>
      {end}
    </Group>
  )
}

const SentenceText = ({ sentence: { verb, noun, name, rest } }: { sentence: Sentence }) => (
  <>
    {verb} {noun} {name !== undefined && <Quoted>{name}</Quoted>} <UserText>{rest}</UserText>
  </>
)

const Quoted = ({ children }: { children: string }) => (
  <Text span inherit fw={600}>
    “<UserText>{children}</UserText>”
  </Text>
)

type DetailsProps = Pick<EntryProps, 'event' | 'ofAll' | 'onFilter'>

function Details({ event, ofAll, onFilter }: DetailsProps) {
  const { subject, actor, changes = {}, time, requestId, hash } = event
  const subjectType = subject.type.replaceAll('_', ' ').replace('api', 'API')
  const filters = [
    [`of this ${subjectType}`, { subject: subject.id }],
    ['by this actor', !ofAll && { actor: actorId(actor) }],
    ['by this person', ofAll && actor.user && { person: actor.user.subject }],
    ['of this request', ofAll && { requestId }],
    ['of this project', ofAll && event.projectId && { project: event.projectId }],
  ] as const
  return (
    <Stack gap="xs" pl={44} pb="md">
      <Text>
        {exactTime(time)} <span className="mono">({time})</span>
      </Text>
      {changePhrases(changes).map(({ member, text }) => (
        <Text key={member} c="dimmed">
          <UserText>{text}</UserText>
        </Text>
      ))}
      <Group gap="xs">
        {filters
          .filter(([, part]) => part)
          .map(([name, part]) => (
            <Button
              key={name}
              size="compact-xs"
              variant="light"
              onClick={() => onFilter({ ...noFilter, ...part })}
            >
              All events {name}
            </Button>
          ))}
      </Group>
      <ActorDetails actor={actor} />
      <CopyField label={`Id of the ${subjectType}`} value={subject.id} />
      <CopyField label="Request id" value={requestId} />
      <CopyField label="Ledger hash" value={hash} />
    </Stack>
  )
}

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
