import { Button } from '@mantine/core'
import type { JwtKey } from '@pubring/client'
import { lazy } from 'react'
import { Link } from 'wouter'
import { componentOf, LazyPart, usePreload } from '../../components/lazy.tsx'
import { useOpenDialog } from '../../forms/drafts.ts'
import type { KeyRow } from '../../keys/states.ts'
import { useRights } from '../../session/rights.ts'
import { actionsOf, keyActions } from '../project/key-actions.ts'

const loadDialog = () => componentOf(import('../project/key-dialogs.tsx'), 'KeyDialog')
const KeyDialog = lazy(loadDialog)

/** Everything that can be done with the key; nothing is in a menu. */
export function KeyActionButtons(props: {
  row: KeyRow
  /** The active keys of the project; without them, a dialog cannot warn of the last one. */
  activeKeys: JwtKey[] | undefined
}) {
  const { row, activeKeys } = props
  const { id, projectId } = row
  const { mayWrite } = useRights(projectId)
  const [open, setOpen] = useOpenDialog(`page.${id}`, keyActions)
  usePreload(loadDialog)
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
