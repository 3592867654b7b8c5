import { Alert, Anchor, Button, Card, Group, Menu, Text, Tooltip } from '@mantine/core'
import {
  IconAlarm,
  IconEye,
  IconPencil,
  IconPlayerPause,
  IconPlayerPlay,
  IconRefresh,
  IconTrash,
} from '@tabler/icons-react'
import { lazy } from 'react'
import { Link, useLocation } from 'wouter'
import type { JwtKey, Project } from '../../../../client/src/index.ts'
import { ActionsMenu } from '../../components/actions-menu.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { CurlHint } from '../../components/curl.tsx'
import { DataTable, RowName } from '../../components/data-table.tsx'
import { LazyPart, usePreload } from '../../components/lazy.tsx'
import { StateBadge, stateOf } from '../../components/state-badge.tsx'
import { EmptyState, QueryResult } from '../../components/states.tsx'
import { OptionalTime, RelativeTime } from '../../components/times.tsx'
import { UserText, withVisibleControls } from '../../components/user-text.tsx'
import { useOpenDialog } from '../../forms/drafts.ts'
import { describeMaterial } from '../../keys/material.ts'
import { useKeys } from '../../keys/queries.ts'
import { useRights } from '../../session/rights.ts'
import { readRotation } from '../../session/rotations.ts'
import { type KeyAction, keyActions } from './key-actions.ts'

const loadKeyDialog = async () => ({ default: (await import('./key-dialogs.tsx')).KeyDialog })
const KeyDialog = lazy(loadKeyDialog)

/** The keys of a project with their actions. */
export function KeysPanel({ project, onRegister }: { project: Project; onRegister(): void }) {
  const { mayWrite } = useRights(project.id)
  const query = useKeys(project.id)
  return (
    <QueryResult query={query}>
      {(keys) =>
        keys.length === 0 ? (
          <NoKeys projectId={project.id} onRegister={onRegister} />
        ) : (
          <>
            {!keys.some(({ active }) => active) && (
              <Text className="warning" fw={600} mb="sm" role="status">
                No key is active: tokens of this project do not verify.
              </Text>
            )}
            {mayWrite && <PendingRotations keys={keys} />}
            <KeyTable keys={keys} />
            <CurlHint path={`/projects/${project.id}/jwt-keys`} />
          </>
        )
      }
    </QueryResult>
  )
}

function NoKeys({ projectId, onRegister }: { projectId: string; onRegister(): void }) {
  const { mayRegister } = useRights(projectId)
  return (
    <Card withBorder>
      <EmptyState
        title="No keys yet"
        action={
          mayRegister && (
            <Button mt="sm" onClick={onRegister}>
              Register the first key
            </Button>
          )
        }
      >
        Tokens of this project verify once you register a key. The private key stays in your
        backend; Pubring stores only the public key.
      </EmptyState>
    </Card>
  )
}

/** Links to the rotations that were started in this tab and are not complete. */
function PendingRotations({ keys }: { keys: JwtKey[] }) {
  const pending = keys.filter(({ id }) => readRotation(id).newKid !== undefined)
  return pending.map(({ id, projectId, label }) => (
    <Alert key={id} color="petrol" icon={<IconRefresh />} mb="sm">
      The rotation of “<UserText>{label}</UserText>” is in progress.{' '}
      <Anchor component={Link} href={`/projects/${projectId}/rotate/${id}`} underline="always">
        Continue
      </Anchor>
    </Alert>
  ))
}

function KeyTable({ keys }: { keys: JwtKey[] }) {
  usePreload(loadKeyDialog)
  const [open, setOpen] = useOpenDialog('key', keyActions)
  const openKey = keys.find(({ id }) => id === open?.id)
  return (
    <Card withBorder padding="sm" mb="sm">
      <DataTable
        rows={keys}
        columns={[
          { title: 'Status', cell: (key) => <StateBadge state={stateOf(key, 'inactive')} /> },
          { title: 'Label', cell: ({ label }) => <RowName>{label}</RowName> },
          { title: 'Algorithm', cell: (key) => <AlgorithmText jwtKey={key} /> },
          { title: 'kid', cell: (key) => <Kid jwtKey={key} /> },
          { title: 'Registered', cell: ({ createTime }) => <RelativeTime time={createTime} /> },
          { title: 'Expires', cell: ({ expireTime }) => <OptionalTime time={expireTime} /> },
          {
            title: 'Actions',
            cell: (key) => (
              <KeyActions jwtKey={key} onAction={(action) => setOpen({ action, id: key.id })} />
            ),
          },
        ]}
      />
      {open !== undefined && openKey !== undefined && (
        <LazyPart>
          <KeyDialog
            action={open.action}
            jwtKey={openKey}
            keys={keys}
            onClose={() => setOpen(undefined)}
          />
        </LazyPart>
      )}
    </Card>
  )
}

function AlgorithmText({ jwtKey }: { jwtKey: JwtKey }) {
  const material = describeMaterial(jwtKey)
  return (
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
  )
}

function Kid({ jwtKey: { id, label } }: { jwtKey: JwtKey }) {
  return (
    <Group gap={2} wrap="nowrap">
      <Tooltip label={id}>
        <span className="mono" style={{ whiteSpace: 'nowrap' }}>
          {id.slice(0, 8)}…{id.slice(-4)}
        </span>
      </Tooltip>
      <CopyButton value={id} name={`kid of ${withVisibleControls(label)}`} />
    </Group>
  )
}

function KeyActions(props: { jwtKey: JwtKey; onAction(action: KeyAction): void }) {
  const { mayWrite } = useRights(props.jwtKey.projectId)
  const [, navigate] = useLocation()
  const { active, id, projectId, label } = props.jwtKey
  const state = stateOf(props.jwtKey, 'inactive')
  const item = (action: KeyAction, text: string, Icon: typeof IconEye) => (
    <Menu.Item
      leftSection={<Icon size={16} />}
      {...(action === 'delete' && { className: 'warning' })}
      onClick={() => props.onAction(action)}
    >
      {text}
    </Menu.Item>
  )
  return (
    <ActionsMenu name={withVisibleControls(label)}>
      {item('show', 'Details', IconEye)}
      {mayWrite && (
        <>
          {active && (
            <Menu.Item
              leftSection={<IconRefresh size={16} />}
              onClick={() => navigate(`/projects/${projectId}/rotate/${id}`)}
            >
              Rotate…
            </Menu.Item>
          )}
          {item('rename', 'Rename', IconPencil)}
          {item('expire', state === 'expired' ? 'Extend or clear expiry' : 'Set expiry', IconAlarm)}
          <Menu.Divider />
          {state === 'active' && item('deactivate', 'Deactivate', IconPlayerPause)}
          {state === 'inactive' && item('activate', 'Activate', IconPlayerPlay)}
          {!active && item('delete', 'Delete', IconTrash)}
        </>
      )}
    </ActionsMenu>
  )
}
