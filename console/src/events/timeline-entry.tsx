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
import { clausesOf, sentenceOf, toneOf } from './sentences.ts'

const tones = {
  good: { color: 'teal', icon: IconPlus },
  bad: { color: 'red', icon: IconAlertTriangle },
  off: { color: 'orange', icon: IconMinus },
  plain: { color: 'gray', icon: IconPencil },
}

/** One event in words; its details unfold. */
export function TimelineEntry({ event, name }: { event: Event; name: string | undefined }) {
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
            <Words event={event} name={name} />
            <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
              {event.actor.name} · <RelativeTime time={event.time} /> · #{event.revision}
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

function Words({ event, name }: { event: Event; name: string | undefined }) {
  const { verb, noun, name: called, rest } = sentenceOf(event, name)
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
      {verb} {noun}
      {called !== undefined && (
        <>
          {' '}
          <Text span inherit fw={600}>
            “{called}”
          </Text>
        </>
      )}
      {rest !== '' && ` ${rest}`}
    </Text>
  )
}

function Details({ event }: { event: Event }) {
  const { subject, changes = {}, time, requestId, hash } = event
  const ofWhat = subject.type.replace('_', ' ').replace('api', 'API')
  const exact = new Date(time).toLocaleString(undefined, { dateStyle: 'full', timeStyle: 'long' })
  return (
    <Stack gap="xs" pl={44} pb="md">
      <Text size="sm">{exact}</Text>
      {clausesOf(changes).map(({ member, text }) => (
        <Text key={member} size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {text}
        </Text>
      ))}
      <CopyField label={`Id of the ${ofWhat}`} value={subject.id} />
      <CopyField label="Request id" value={requestId} />
      <CopyField label="Hash of the ledger up to here" value={hash} />
    </Stack>
  )
}
