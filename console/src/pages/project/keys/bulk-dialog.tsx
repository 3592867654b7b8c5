import { Alert, Button, Group, Progress, ScrollArea, Stack, Table, Text } from '@mantine/core'
import { IconAlertTriangle, IconCheck } from '@tabler/icons-react'
import { CurlHint } from '../../../components/curl.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { KeyStateBadge } from '../../../components/key-state-badge.tsx'
import { RelativeTime } from '../../../components/times.tsx'
import { UserText } from '../../../components/user-text.tsx'
import { describeMaterial } from '../../../keys/material.ts'
import type { KeyRow } from '../../../keys/states.ts'
import { emptiedBy, LastActiveWarning } from '../last-active.tsx'
import { applicableTo, type BulkAction } from './bulk-actions.tsx'
import { type Outcome, requestOf, useBulkRun } from './bulk-run.ts'

const texts: Record<BulkAction, { verb: string; done: string; explanation: string }> = {
  deactivate: {
    verb: 'Deactivate',
    done: 'deactivated',
    explanation:
      'The keys leave the key set within a second. Verifiers that follow the key set live reject their tokens immediately, others when their cache expires (usually after 5 to 10 minutes). You can activate them again, except those that are compromised.',
  },
  activate: {
    verb: 'Activate',
    done: 'activated',
    explanation: 'Tokens signed with these keys will verify again within a second.',
  },
  delete: {
    verb: 'Delete',
    done: 'deleted',
    explanation:
      'The keys are not active, so no token depends on them. Their kids are never reused, and their history stays in the ledger.',
  },
}

const keysOf = (count: number) => (count === 1 ? '1 key' : `${count.toLocaleString()} keys`)

/** Asks once for all selected keys, carries the action out, and says what became of each. */
export function BulkDialog(props: {
  action: BulkAction
  selected: KeyRow[]
  /** All keys of the project. */
  keys: KeyRow[]
  onClose(): void
}) {
  const { action, selected, keys, onClose } = props
  const { verb, done } = texts[action]
  const targets = applicableTo(selected, action)
  const name = `${verb} ${keysOf(targets.length)}`
  const { outcomes, running, run, stop } = useBulkRun(action, name, targets, onClose)
  const failed = targets.filter(({ id }) => outcomes.get(id)?.error !== undefined)
  const isAsking = outcomes.size === 0 && !running
  const title = isAsking
    ? `${name}?`
    : `${outcomes.size - failed.length} of ${keysOf(targets.length)} ${done}`
  return (
    <Dialog title={title} onClose={onClose} size="xl" closeOnClickOutside={!running}>
      <Stack>
        {isAsking && (
          <Explanation action={action} targets={targets} selected={selected} keys={keys} />
        )}
        {!running && failed.length > 0 && (
          <Alert
            color="red"
            icon={<IconAlertTriangle />}
            title={`${keysOf(failed.length)} failed`}
            role="alert"
          >
            {failed.length < targets.length && `The others were ${done}. `}The reason is beside each
            key.
          </Alert>
        )}
        <KeyRows keys={targets} outcomes={outcomes} />
        {running && (
          <div role="status">
            <Text size="sm" mb={4}>
              {outcomes.size} of {targets.length}
            </Text>
            <Progress value={(outcomes.size / targets.length) * 100} aria-label="Progress" />
          </div>
        )}
        {isAsking && targets[0] !== undefined && <CurlHint {...requestOf(action, targets[0])} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={running ? stop : onClose} data-autofocus>
            {running ? 'Stop' : isAsking ? 'Cancel' : 'Close'}
          </Button>
          {!running && (isAsking || failed.length > 0) && (
            <Button
              color={action === 'activate' ? 'petrol' : 'red.8'}
              onClick={() => run(isAsking ? targets : failed)}
            >
              {isAsking ? name : `Try ${keysOf(failed.length)} again`}
            </Button>
          )}
        </Group>
      </Stack>
    </Dialog>
  )
}

function Explanation(props: {
  action: BulkAction
  targets: KeyRow[]
  selected: KeyRow[]
  keys: KeyRow[]
}) {
  const { action, targets, selected, keys } = props
  const others = selected.length - targets.length
  const emptied = action === 'deactivate' ? emptiedBy(targets, keys) : undefined
  return (
    <>
      {emptied !== undefined ? (
        <LastActiveWarning emptied={emptied} count={targets.length} />
      ) : (
        <Text>{texts[action].explanation}</Text>
      )}
      {others > 0 && (
        <Text size="sm" c="dimmed">
          {keysOf(others)} of the selection {others === 1 ? 'stays' : 'stay'} as{' '}
          {others === 1 ? 'it is' : 'they are'}: {unaffected[action]}.
        </Text>
      )}
    </>
  )
}

const unaffected: Record<BulkAction, string> = {
  deactivate: 'not active',
  activate: 'active already, expired, which needs another expiry, or compromised',
  delete: 'still active; deactivate first',
}

/** The facts that tell the keys from others and, once there is one, the outcome of each. */
function KeyRows({ keys, outcomes }: { keys: KeyRow[]; outcomes: ReadonlyMap<string, Outcome> }) {
  return (
    <ScrollArea.Autosize
      mah={320}
      type="auto"
      offsetScrollbars
      viewportProps={{ tabIndex: 0, 'aria-label': 'The keys', role: 'group' }}
    >
      <Table verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Key</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th visibleFrom="xs">Algorithm</Table.Th>
            <Table.Th visibleFrom="xs">Registered</Table.Th>
            <Table.Th visibleFrom="xs">Changed</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {keys.map((key) => (
            <Table.Tr key={key.id} data-id={key.id}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <Text size="sm" fw={600}>
                  <UserText>{key.label}</UserText>
                </Text>
                <Text size="xs" c="dimmed" className="mono">
                  {key.id}
                </Text>
                <OutcomeText outcome={outcomes.get(key.id)} />
              </Table.Td>
              <Table.Td>
                <KeyStateBadge row={key} />
              </Table.Td>
              <Table.Td visibleFrom="xs">
                {key.algorithm} {describeMaterial(key)}
              </Table.Td>
              <Table.Td visibleFrom="xs">
                <RelativeTime time={key.createTime} />
              </Table.Td>
              <Table.Td visibleFrom="xs">
                <RelativeTime time={key.updateTime} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  )
}

function OutcomeText({ outcome }: { outcome: Outcome | undefined }) {
  if (outcome === undefined) return null
  if (outcome.error === undefined) {
    return (
      <Group gap={4} c="light-dark(#056146, var(--mantine-color-teal-2))">
        <IconCheck size={14} aria-hidden />
        <Text size="xs">Done</Text>
      </Group>
    )
  }
  return (
    <Text size="xs" className="warning" data-failed>
      {outcome.error}
    </Text>
  )
}
