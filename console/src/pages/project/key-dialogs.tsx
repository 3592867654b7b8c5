import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { JwtKey } from '../../../../client/src/index.ts'
import { ActionDialog } from '../../components/action-form.tsx'
import { ExpiryField, fromExpiryInput, toExpiryInput } from '../../components/expiry-field.tsx'
import { useKeyChanges } from '../../keys/queries.ts'
import { KeyDetails } from './key-details.tsx'
import {
  isLastActive,
  isLastToExpire,
  LastActiveWarning,
  LastExpiryWarning,
} from './last-active.tsx'

export type KeyAction = 'show' | 'rename' | 'expire' | 'activate' | 'deactivate' | 'delete'

type DialogProps = { jwtKey: JwtKey; keys: JwtKey[]; onClose(): void }

/** The dialog for an action on a key. */
export function KeyDialog({ action, ...props }: DialogProps & { action: KeyAction }) {
  if (action === 'show') return <KeyDetails {...props} />
  if (action === 'rename') return <RenameKey {...props} />
  if (action === 'expire') return <ExpireKey {...props} />
  if (action === 'activate') return <ActivateKey {...props} />
  if (action === 'deactivate') return <DeactivateKey {...props} />
  return <DeleteKey {...props} />
}

function ActivateKey({ jwtKey, onClose }: DialogProps) {
  const change = useKeyChanges(jwtKey).update({ active: true })
  return (
    <ActionDialog
      title={`Activate “${jwtKey.label}”?`}
      action="Activate"
      onClose={onClose}
      {...change}
    >
      Tokens signed with this key will verify again within a second.
    </ActionDialog>
  )
}

function DeactivateKey({ jwtKey, keys, onClose }: DialogProps) {
  const change = useKeyChanges(jwtKey).update({ active: false })
  return (
    <ActionDialog
      title={`Deactivate “${jwtKey.label}”?`}
      action="Deactivate"
      danger
      onClose={onClose}
      {...change}
    >
      {isLastActive(jwtKey, keys) ? (
        <LastActiveWarning />
      ) : (
        'The key leaves the key set within a second. Verifiers that follow the key set live reject its tokens immediately, others when their cache expires (usually after 5 to 10 minutes). You can activate it again.'
      )}
    </ActionDialog>
  )
}

function DeleteKey({ jwtKey, onClose }: DialogProps) {
  const change = useKeyChanges(jwtKey).remove()
  return (
    <ActionDialog
      title={`Delete “${jwtKey.label}”?`}
      action="Delete permanently"
      danger
      onClose={onClose}
      {...change}
    >
      The key is inactive, so no token depends on it. Its kid is never reused, and its history stays
      in the ledger.
    </ActionDialog>
  )
}

function RenameKey({ jwtKey, onClose }: DialogProps) {
  const [label, setLabel] = useState(jwtKey.label)
  const change = useKeyChanges(jwtKey).update({ label })
  return (
    <ActionDialog
      title="Rename key"
      action="Rename"
      disabled={label.trim() === ''}
      onClose={onClose}
      {...change}
    >
      <TextInput
        label="Label"
        description="A name for your team. It is not published to verifiers."
        value={label}
        onChange={(event) => setLabel(event.currentTarget.value)}
        data-autofocus
      />
    </ActionDialog>
  )
}

function ExpireKey({ jwtKey, keys, onClose }: DialogProps) {
  const [expiry, setExpiry] = useState(toExpiryInput(jwtKey.expireTime))
  const expireTime = fromExpiryInput(expiry)
  const change = useKeyChanges(jwtKey).update({ expireTime: expireTime ?? null })
  return (
    <ActionDialog title={`Expiry of “${jwtKey.label}”`} action="Save" onClose={onClose} {...change}>
      <ExpiryField
        value={expiry}
        description="The key is not published after this time. Leave empty for no expiry."
        onValue={setExpiry}
        autoFocus
      />
      {isLastToExpire(jwtKey, keys, expireTime) && <LastExpiryWarning />}
    </ActionDialog>
  )
}
