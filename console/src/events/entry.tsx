import { Collapse, Group, Stack, Text, ThemeIcon, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import {
  IconAlertTriangle,
  IconChevronDown,
  IconMinus,
  IconPencil,
  IconPlus,
} from '@tabler/icons-react'
import { useId } from 'react'
import type { Event } from '../../../client/src/index.ts'
import { CopyField } from '../components/copy.tsx'
import { RelativeTime } from '../components/times.tsx'
import { UserText } from '../components/user-text.tsx'
import { ActorDetails, ActorName } from './actor.tsx'
import { changePhrases, sentenceOf, toneOf } from './sentences.ts'

const tones = {
  added: { color: 'teal', icon: IconPlus },
  removed: { color: 'orange', icon: IconMinus },
  alarming: { color: 'red', icon: IconAlertTriangle },
  neutral: { color: 'gray', icon: IconPencil },
}

type EntryProps = { event: Event; name: string | undefined }

/**
 * One event as a sentence that expands to its details; `name` is its subject's. `isLogged` is undefined
 * while it is unknown whether the log has the event.
 */
export function Entry(props: EntryProps & { isLogged: boolean | undefined }) {
  const { event, name, isLogged } = props
  const [opened, { toggle }] = useDisclosure(false)
  const id = useId()
  const { color, icon: Icon } = tones[toneOf(event)]
  return (
    <li data-revision={event.revision}>
      <UnstyledButton onClick={toggle} aria-expanded={opened} aria-controls={id} w="100%" py={8}>
        <Group wrap="nowrap" align="flex-start" gap="sm">
          <ThemeIcon variant="light" color={color} size={28} radius="xl" aria-hidden>
            <Icon size={15} />
          </ThemeIcon>
          <div style={{ flex: 1, minWidth: 0 }}>
            <SentenceText event={event} name={name} />
            <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
              <ActorName actor={event.actor} /> · <RelativeTime time={event.time} /> · #
              {event.revision}
              {isLogged === false && ' · not in the log yet'}
            </Text>
          </div>
          <IconChevronDown
            size={16}
            style={{ transform: opened ? 'rotate(180deg)' : undefined, flex: 'none' }}
            aria-hidden
          />
        </Group>
      </UnstyledButton>
      <Collapse id={id} expanded={opened}>
        <div>{opened && <Details event={event} />}</div>
      </Collapse>
    </li>
  )
}

function SentenceText({ event, name }: EntryProps) {
  const sentence = sentenceOf(event, name)
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
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
    </Text>
  )
}

function Details({ event }: { event: Event }) {
  const { subject, actor, changes = {}, time, requestId, hash } = event
  const subjectType = subject.type.replace('_', ' ').replace('api', 'API')
  const exact = new Date(time).toLocaleString(undefined, { dateStyle: 'full', timeStyle: 'long' })
  return (
    <Stack gap="xs" pl={44} pb="md">
      <Text size="sm">{exact}</Text>
      {changePhrases(changes).map(({ member, text }) => (
        <Text key={member} size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          <UserText>{text}</UserText>
        </Text>
      ))}
      <ActorDetails actor={actor} />
      <CopyField label={`Id of the ${subjectType}`} value={subject.id} />
      <CopyField label="Request id" value={requestId} />
      <CopyField label="Ledger hash" value={hash} />
    </Stack>
  )
}
