import {
  Button,
  Group,
  NativeSelect,
  Progress,
  ScrollArea,
  Stack,
  Table,
  Text,
} from '@mantine/core'
import type { JwtKey } from '@pubring/client'
import { IconCheck } from '@tabler/icons-react'
import { useState } from 'react'
import { CurlHint } from '../../../components/curl.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { KeyIdentity } from '../../../components/key-identity.tsx'
import { KeyStateBadge } from '../../../components/state-badge.tsx'
import { Notice } from '../../../components/states.tsx'
import { counted, quoted, RelativeTime, UserText } from '../../../components/text.tsx'
import { describeMaterial } from '../../../keys/material.ts'
import type { KeyRow } from '../../../keys/queries.ts'
import { KeyUses } from '../../../keys/uses.tsx'
import { emptiedBy, LastActiveWarning } from '../last-active.tsx'
import { Obedience } from '../revocation.tsx'
import { applicableTo, type BulkAction } from './bulk-actions.tsx'
import { type EndReason, type Outcome, send, useBulkRun } from './bulk-run.ts'

const texts = {
  deactivate: {
    verb: 'Deactivate',
    done: 'deactivated',
    explanation:
      'Tokens are rejected at the times below. A key can be activated again, unless it is compromised.',
    unaffected: 'not active',
  },
  activate: {
    verb: 'Activate',
    done: 'activated',
    explanation: 'The tokens verify again within a second.',
    unaffected: 'active already, expired, which needs another expiry, or compromised',
  },
  delete: {
    verb: 'Delete',
    done: 'deleted',
    explanation:
      'No token depends on a key that is not active. The kid is never reused, and the history stays in the ledger.',
    unaffected: 'still active; deactivate first',
  },
} as const

export const reasonMeanings: Record<EndReason, string> = {
  unspecified: 'It stands in the history of the keys, which is public.',
  superseded: 'Another key takes over. Its earlier tokens remain what they were.',
  compromised:
    'Others may have the private key, and can date tokens back: it counts as valid at no time, and is never activated again.',
}

type BulkProps = {
  action: BulkAction
  selected: KeyRow[]
  /** All keys of the project, or those that are active. */
  keys: JwtKey[]
}

export function BulkDialog({ onClose, ...props }: BulkProps & { onClose(): void }) {
  const { action, selected } = props
  const { verb, done } = texts[action]
  // The row of a single key changes while the action is carried out.
  const [targets] = useState(() =>
    selected.length === 1 ? selected : applicableTo(selected, action),
  )
  const [single] = targets.length === 1 ? targets : []
  const subject = single ? quoted(single.label) : counted(targets.length, 'key')
  const name = `${verb} ${subject}`
  const [reason, setReason] = useState<EndReason>('unspecified')
  const sent = { targets, reason }
  const { outcomes, running, run, stop } = useBulkRun(action, name, sent, onClose)
  const failed = targets.filter(({ id }) => outcomes.get(id)?.error !== undefined)
  const isAsking = outcomes.size === 0 && !running
  const title =
    isAsking || single
      ? `${name}?`
      : `${outcomes.size - failed.length} of ${counted(targets.length, 'key')} ${done}`
  const label = action === 'delete' ? 'Delete permanently' : verb
  return (
    <Dialog
      title={title}
      onClose={onClose}
      size={single ? 'md' : 'xl'}
      closeOnClickOutside={!running}
    >
      <Stack>
        {isAsking && <Explanation targets={targets} {...props} />}
        {!running && failed.length > 0 && (
          <Notice tone="bad" title={`${counted(failed.length, 'key')} failed`} role="alert">
            {failed.length < targets.length && `The others were ${done}. `}
            {single ? outcomes.get(single.id)?.error : 'The reason is beside each key.'}
          </Notice>
        )}
        {single ? <KeyIdentity jwtKey={single} /> : <KeyRows keys={targets} outcomes={outcomes} />}
        {running && !single && (
          <div role="status">
            <Text mb={4}>
              {outcomes.size} of {targets.length}
            </Text>
            <Progress value={(outcomes.size / targets.length) * 100} aria-label="Progress" />
          </div>
        )}
        {isAsking && action === 'deactivate' && (
          <NativeSelect
            label="Reason"
            description={reasonMeanings[reason]}
            data={Object.keys(reasonMeanings)}
            value={reason}
            onChange={({ currentTarget }) => setReason(currentTarget.value as EndReason)}
          />
        )}
        {isAsking && single && <CurlHint send={(client) => send(client, action, single, reason)} />}
        <Group justify="flex-end" className="form-actions">
          <Button variant="default" onClick={running ? stop : onClose} data-autofocus>
            {running ? 'Stop' : isAsking ? 'Cancel' : 'Close'}
          </Button>
          {!running && (isAsking || failed.length > 0) && (
            <Button
              color={action === 'activate' ? 'petrol' : 'red.8'}
              onClick={() => run(isAsking ? targets : failed)}
            >
              {isAsking ? (single ? label : name) : `Try ${counted(failed.length, 'key')} again`}
            </Button>
          )}
        </Group>
      </Stack>
    </Dialog>
  )
}

function Explanation({ action, targets, selected, keys }: BulkProps & { targets: KeyRow[] }) {
  const others = selected.length - targets.length
  const emptied = action === 'deactivate' ? emptiedBy(targets, keys) : undefined
  return (
    <>
      {emptied !== undefined ? (
        <LastActiveWarning emptied={emptied} count={targets.length} />
      ) : (
        <Text size="md">{texts[action].explanation}</Text>
      )}
      {action !== 'activate' && <KeyUses keys={targets} />}
      {action === 'deactivate' && <Obedience />}
      {others > 0 && (
        <Text c="dimmed">
          {counted(others, 'key')} of the selection {others === 1 ? 'stays' : 'stay'} as{' '}
          {others === 1 ? 'it is' : 'they are'}: {texts[action].unaffected}.
        </Text>
      )}
    </>
  )
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
                <Text fw={600}>
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
