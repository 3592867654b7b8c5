import {
  Box,
  Button,
  Collapse,
  Group,
  Stack,
  Text,
  ThemeIcon,
  Tooltip,
  UnstyledButton,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { Expiry, HistoryEvent } from '@pubring/client'
import {
  IconAlarm,
  IconAlertTriangle,
  IconChevronDown,
  IconMinus,
  IconPencil,
  IconPlus,
} from '@tabler/icons-react'
import { type ReactNode, useId } from 'react'
import { CopyField } from '../components/copy.tsx'
import { clockTime, exactTime, localTime } from '../components/times.tsx'
import { UserText } from '../components/user-text.tsx'
import { ActorDetails, ActorName, actorId } from './actor.tsx'
import { type Filter, noFilter } from './filter.ts'
import { changePhrases, type NameOf, type Sentence, sentenceOf, toneOf } from './sentences.ts'

const tones = {
  added: { color: 'teal', icon: IconPlus },
  removed: { color: 'orange', icon: IconMinus },
  alarming: { color: 'red', icon: IconAlertTriangle },
  neutral: { color: 'gray', icon: IconPencil },
}

/** How events are shown. */
export type EventView = {
  /** Whether the events are those of all ledgers; they name theirs. */
  ofAll?: boolean
  /** Undefined while it is unknown whether the log has the event. */
  isLogged?(event: HistoryEvent): boolean | undefined
  nameOf?: NameOf
  onFilter(part: Partial<Filter>): void
}

type EntryProps = { event: HistoryEvent } & EventView

/** One event as a sentence that expands to its details. */
export function EventEntry({ event, ...view }: EntryProps) {
  const { ofAll = false, isLogged, nameOf = () => undefined, onFilter } = view
  const [opened, { toggle }] = useDisclosure(false)
  const id = useId()
  const { color, icon } = tones[toneOf(event)]
  return (
    <li data-revision={event.revision}>
      <UnstyledButton onClick={toggle} aria-expanded={opened} aria-controls={id} w="100%" py={8}>
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
      </UnstyledButton>
      <Collapse id={id} expanded={opened}>
        <div>{opened && <Details event={event} ofAll={ofAll} onFilter={onFilter} />}</div>
      </Collapse>
    </li>
  )
}

/** The expiry of a key, of which the ledger has no event of its own. */
export function ExpiryEntry({ expiry }: { expiry: Expiry }) {
  const { label, time, setBy } = expiry
  return (
    <li data-expiry={expiry.kid}>
      <Box py={8}>
        <EntryRow
          color="orange"
          icon={IconAlarm}
          sentence={
            <>
              Key{' '}
              <Text span inherit fw={600}>
                “<UserText>{label}</UserText>”
              </Text>{' '}
              expired
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

/** The time with seconds; the day is above, and the time zone in the tooltip. */
function TimeOfDay({ time }: { time: string }) {
  return (
    <Tooltip label={`${exactTime(time)} · ${time}`}>
      <Text component="time" inherit dateTime={time}>
        {clockTime(time)}
      </Text>
    </Tooltip>
  )
}

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
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {sentence}
        </Text>
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {details}
        </Text>
      </div>
      {end}
    </Group>
  )
}

function SentenceText({ sentence }: { sentence: Sentence }) {
  return (
    <>
      {sentence.verb} {sentence.noun}
      {sentence.name !== undefined && (
        <>
          {' '}
          <Text span inherit fw={600}>
            “<UserText>{sentence.name}</UserText>”
          </Text>
        </>
      )}
      {sentence.rest !== '' && (
        <>
          {' '}
          <UserText>{sentence.rest}</UserText>
        </>
      )}
    </>
  )
}

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
      <Text size="sm">
        {exactTime(time)} <span className="mono">({time})</span>
      </Text>
      {changePhrases(changes).map(({ member, text }) => (
        <Text key={member} size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
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
