import { Button, Card, Group, Menu, Table, Text, Tooltip } from '@mantine/core'
import {
  IconAlarm,
  IconEye,
  IconPencil,
  IconPlayerPause,
  IconPlayerPlay,
  IconRefresh,
  IconTrash,
} from '@tabler/icons-react'
import { useState } from 'react'
import { useLocation } from 'wouter'
import type { JwtKey, Project } from '../../../../client/src/index.ts'
import { ActionsMenu } from '../../components/actions-menu.tsx'
import { Copy } from '../../components/copy.tsx'
import { CurlHint } from '../../components/curl.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { StateBadge, stateOf } from '../../components/state-badge.tsx'
import { EmptyState, LoadingRows } from '../../components/states.tsx'
import { RelativeTime } from '../../components/times.tsx'
import { materialOf } from '../../keys/material.ts'
import { useKeys } from '../../keys/queries.ts'
import { useRights } from '../../session/context.tsx'
import { type KeyAction, KeyDialog } from './key-dialogs.tsx'
import { RotationsUnderWay } from './rotations-under-way.tsx'

type Open = { action: KeyAction; key: JwtKey } | undefined

/** The keys of a project, and what can be done with each. */
export function KeysPanel({ project, onRegister }: { project: Project; onRegister(): void }) {
  const { mayWrite } = useRights()
  const keys = useKeys(project.id)
  const [open, setOpen] = useState<Open>()
  if (keys.isPending) return <LoadingRows />
  if (keys.isError) return <ErrorNotice error={keys.error} retry={() => void keys.refetch()} />
  if (keys.data.length === 0) {
    return (
      <Card withBorder>
        <EmptyState
          title="No keys yet"
          action={
            mayWrite && (
              <Button mt="sm" onClick={onRegister}>
                Register the first key
              </Button>
            )
          }
        >
          Until one is registered, no token of this project verifies. The private key stays in your
          backend; only its public half comes here.
        </EmptyState>
      </Card>
    )
  }
  return (
    <>
      {!keys.data.some(({ active }) => active) && (
        <Text className="grave" fw={600} mb="sm" role="status">
          No key is active: no token of this project verifies.
        </Text>
      )}
      {mayWrite && <RotationsUnderWay keys={keys.data} />}
      <Card withBorder padding="sm" mb="sm">
        <Table className="cards" verticalSpacing="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>State</Table.Th>
              <Table.Th>Label</Table.Th>
              <Table.Th>Algorithm</Table.Th>
              <Table.Th>kid</Table.Th>
              <Table.Th>Registered</Table.Th>
              <Table.Th>Expires</Table.Th>
              <Table.Th aria-label="Actions" />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {keys.data.map((key) => (
              <Row key={key.id} jwtKey={key} onAction={(action) => setOpen({ action, key })} />
            ))}
          </Table.Tbody>
        </Table>
      </Card>
      <CurlHint path={`/projects/${project.id}/jwt-keys`} />
      {open !== undefined && (
        <KeyDialog
          action={open.action}
          jwtKey={keys.data.find(({ id }) => id === open.key.id) ?? open.key}
          keys={keys.data}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  )
}

function Row({ jwtKey, onAction }: { jwtKey: JwtKey; onAction(action: KeyAction): void }) {
  const material = materialOf(jwtKey)
  return (
    <Table.Tr data-kid={jwtKey.id}>
      <Table.Td data-label="State">
        <StateBadge state={stateOf(jwtKey, 'off')} />
      </Table.Td>
      <Table.Td data-label="Label">
        <Text fw={600} inherit style={{ overflowWrap: 'anywhere' }}>
          {jwtKey.label}
        </Text>
      </Table.Td>
      <Table.Td data-label="Algorithm">
        <span>
          <Text inherit component="span">
            {jwtKey.algorithm}
          </Text>
          {material !== '' && (
            <Text size="xs" c="dimmed" component="span" ml={6} style={{ whiteSpace: 'nowrap' }}>
              {material}
            </Text>
          )}
        </span>
      </Table.Td>
      <Table.Td data-label="kid">
        <Group gap={2} wrap="nowrap">
          <Tooltip label={jwtKey.id}>
            <span className="mono" style={{ whiteSpace: 'nowrap' }}>
              {jwtKey.id.slice(0, 8)}…{jwtKey.id.slice(-4)}
            </span>
          </Tooltip>
          <Copy value={jwtKey.id} what={`kid of ${jwtKey.label}`} />
        </Group>
      </Table.Td>
      <Table.Td data-label="Registered">
        <Text size="sm" component="span">
          <RelativeTime time={jwtKey.createTime} />
        </Text>
      </Table.Td>
      <Table.Td data-label="Expires">
        <Text size="sm" component="span" c={jwtKey.expireTime === undefined ? 'dimmed' : 'inherit'}>
          {jwtKey.expireTime === undefined ? 'never' : <RelativeTime time={jwtKey.expireTime} />}
        </Text>
      </Table.Td>
      <Table.Td data-label="Actions">
        <Actions jwtKey={jwtKey} onAction={onAction} />
      </Table.Td>
    </Table.Tr>
  )
}

function Actions({ jwtKey, onAction }: { jwtKey: JwtKey; onAction(action: KeyAction): void }) {
  const { mayWrite } = useRights()
  const [, navigate] = useLocation()
  const rotate = () => navigate(`/projects/${jwtKey.projectId}/rotate/${jwtKey.id}`)
  return (
    <ActionsMenu of={jwtKey.label}>
      <Menu.Item leftSection={<IconEye size={16} />} onClick={() => onAction('show')}>
        Details
      </Menu.Item>
      {mayWrite && (
        <>
          {jwtKey.active && (
            <Menu.Item leftSection={<IconRefresh size={16} />} onClick={rotate}>
              Rotate…
            </Menu.Item>
          )}
          <Menu.Item leftSection={<IconPencil size={16} />} onClick={() => onAction('rename')}>
            Rename
          </Menu.Item>
          <Menu.Item leftSection={<IconAlarm size={16} />} onClick={() => onAction('expire')}>
            Expiry
          </Menu.Item>
          <Menu.Divider />
          {jwtKey.active ? (
            <Menu.Item
              leftSection={<IconPlayerPause size={16} />}
              onClick={() => onAction('deactivate')}
            >
              Switch off
            </Menu.Item>
          ) : (
            <>
              <Menu.Item
                leftSection={<IconPlayerPlay size={16} />}
                onClick={() => onAction('activate')}
              >
                Switch on
              </Menu.Item>
              <Menu.Item
                leftSection={<IconTrash size={16} />}
                color="red"
                onClick={() => onAction('delete')}
              >
                Delete
              </Menu.Item>
            </>
          )}
        </>
      )}
    </ActionsMenu>
  )
}
