import { Button } from '@mantine/core'
import type { JwtKey } from '@pubring/client'
import { Link } from 'wouter'
import { lazyPart, usePreload } from '../../components/boundary.tsx'
import { useOpenDialog } from '../../forms/action-form.tsx'
import type { KeyRow } from '../../keys/queries.ts'
import { useRights } from '../../session/session.tsx'
import { actionsOf, keyActions } from '../project/key-actions.ts'

const KeyDialog = lazyPart(() => import('../project/key-dialogs.tsx'), 'KeyDialog')

export function KeyActionButtons(props: {
  row: KeyRow
  /** The active keys of the project; without them, a dialog cannot warn of the last one. */
  activeKeys: JwtKey[] | undefined
}) {
  const { row, activeKeys } = props
  const { id, projectId } = row
  const { mayWrite } = useRights(projectId)
  const [open, setOpen] = useOpenDialog(`page.${id}`, keyActions)
  usePreload(KeyDialog.load)
  if (!mayWrite) return null
  return (
    <>
      {actionsOf(row).map(({ action, label, Icon }) => (
        <Button
          key={action}
          {...(action === 'replace' && { color: 'red.8' })}
          {...(action !== 'replace' && action !== 'rotate' && { variant: 'default' })}
          size="sm"
          leftSection={<Icon size={16} aria-hidden />}
          {...(action === 'delete' && { className: 'warning' })}
          {...(action === 'rotate'
            ? { component: Link, href: `/projects/${projectId}/rotate/${id}` }
            : { disabled: activeKeys === undefined, onClick: () => setOpen({ action, id }) })}
        >
          {label}
        </Button>
      ))}
      {open !== undefined && activeKeys !== undefined && (
        <KeyDialog
          action={open.action}
          jwtKey={row}
          keys={activeKeys}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  )
}
