import { Button } from '@mantine/core'
import type { JwtKey } from '@pubring/client'
import {
  IconAlarm,
  IconPencil,
  IconPlayerPause,
  IconPlayerPlay,
  IconRefresh,
  IconTrash,
} from '@tabler/icons-react'
import { lazy } from 'react'
import { Link } from 'wouter'
import { componentOf, LazyPart, usePreload } from '../../components/lazy.tsx'
import { useOpenDialog } from '../../forms/drafts.ts'
import { type KeyRow, mayBeActivated } from '../../keys/states.ts'
import { useRights } from '../../session/rights.ts'
import { type KeyAction, keyActions } from '../project/key-actions.ts'

const loadDialog = () => componentOf(import('../project/key-dialogs.tsx'), 'KeyDialog')
const KeyDialog = lazy(loadDialog)

/** Everything that can be done with the key; nothing is in a menu. */
export function KeyActionButtons(props: {
  row: KeyRow
  /** The active keys of the project; without them, a dialog cannot warn of the last one. */
  activeKeys: JwtKey[] | undefined
}) {
  const { row, activeKeys } = props
  const { id, projectId, active, state } = row
  const isCompromised = state === 'compromised'
  const { mayWrite } = useRights(projectId)
  const [open, setOpen] = useOpenDialog(`page.${id}`, keyActions)
  usePreload(loadDialog)
  if (!mayWrite) return null
  const button = (action: KeyAction, label: string, Icon: typeof IconAlarm) => (
    <Button
      {...(action === 'replace' ? { color: 'red.8' } : { variant: 'default' })}
      size="sm"
      leftSection={<Icon size={16} aria-hidden />}
      disabled={activeKeys === undefined}
      onClick={() => setOpen({ action, id })}
      {...(action === 'delete' && { className: 'warning' })}
    >
      {label}
    </Button>
  )
  return (
    <>
      {isCompromised && button('replace', 'Replace and revoke now', IconRefresh)}
      {active && !isCompromised && (
        <Button
          component={Link}
          href={`/projects/${projectId}/rotate/${id}`}
          size="sm"
          leftSection={<IconRefresh size={16} aria-hidden />}
        >
          Rotate
        </Button>
      )}
      {active && !isCompromised && button('deactivate', 'Deactivate', IconPlayerPause)}
      {mayBeActivated(row) && button('activate', 'Activate', IconPlayerPlay)}
      {button('expire', state === 'expired' ? 'Extend or clear expiry' : 'Set expiry', IconAlarm)}
      {button('rename', 'Rename', IconPencil)}
      {!active && button('delete', 'Delete', IconTrash)}
      {open !== undefined && activeKeys !== undefined && (
        <LazyPart>
          <KeyDialog
            action={open.action}
            jwtKey={row}
            keys={activeKeys}
            onClose={() => setOpen(undefined)}
          />
        </LazyPart>
      )}
    </>
  )
}
