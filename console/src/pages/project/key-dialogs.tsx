import type { JwtKey } from '@pubring/client'
import { KeyIdentity } from '../../components/key-identity.tsx'
import { quoted } from '../../components/user-text.tsx'
import { ActionDialog } from '../../forms/action-form.tsx'
import { useDraft } from '../../forms/drafts.ts'
import { LabelField } from '../../forms/label-field.tsx'
import { ExpiryField, fromExpiryInput, toExpiryInput } from '../../forms/time-field.tsx'
import { useKeyChanges } from '../../keys/queries.ts'
import { useKeyRow } from '../../keys/states.ts'
import type { KeyAction } from './key-actions.ts'
import { emptiedBy, LastActiveWarning, LastExpiryWarning } from './last-active.tsx'
import { ReplaceKey } from './replace-key.tsx'

type DialogProps = { jwtKey: JwtKey; keys: JwtKey[]; onClose(): void }

/** The dialog for an action on a key. */
export function KeyDialog({ action, ...props }: DialogProps & { action: KeyAction }) {
  if (action === 'replace') return <ReplaceKey {...props} />
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
      title={`Activate ${quoted(jwtKey.label)}?`}
      action="Activate"
      onClose={onClose}
      {...change}
    >
      <KeyIdentity jwtKey={jwtKey} />
      Tokens signed with this key will verify again within a second.
    </ActionDialog>
  )
}

function DeactivateKey({ jwtKey, keys, onClose }: DialogProps) {
  const change = useKeyChanges(jwtKey).update({ active: false })
  const emptied = emptiedBy([jwtKey], keys)
  const { endsBecause } = useKeyRow(jwtKey)
  return (
    <ActionDialog
      title={`Deactivate ${quoted(jwtKey.label)}?`}
      action="Deactivate"
      danger
      onClose={onClose}
      {...change}
    >
      <KeyIdentity jwtKey={jwtKey} />
      {emptied !== undefined ? (
        <LastActiveWarning emptied={emptied} />
      ) : (
        'The key leaves the key set within a second. Verifiers that follow the key set live reject its tokens immediately, others when their cache expires (usually after 5 to 10 minutes).'
      )}{' '}
      {endsBecause === 'compromised'
        ? 'It is compromised, so it can never be activated again.'
        : 'You can activate it again.'}
    </ActionDialog>
  )
}

function DeleteKey({ jwtKey, onClose }: DialogProps) {
  const change = useKeyChanges(jwtKey).remove()
  return (
    <ActionDialog
      title={`Delete ${quoted(jwtKey.label)}?`}
      action="Delete permanently"
      danger
      onClose={onClose}
      {...change}
    >
      <KeyIdentity jwtKey={jwtKey} />
      The key is inactive, so no token depends on it. Its kid is never reused, and its history stays
      in the ledger.
    </ActionDialog>
  )
}

function RenameKey({ jwtKey, onClose }: DialogProps) {
  const draft = `rename.${jwtKey.id}`
  const [{ label }, change] = useDraft(draft, { label: jwtKey.label })
  const update = useKeyChanges(jwtKey).update({ label })
  return (
    <ActionDialog
      title={`Rename ${quoted(jwtKey.label)}`}
      action="Rename"
      missing={[label.trim() === '' && 'a label', label === jwtKey.label && 'a new label']}
      draft={draft}
      onClose={onClose}
      {...update}
    >
      <LabelField
        label="Label"
        description="A name for your team. It is not published to verifiers."
        value={label}
        onValue={(text) => change({ label: text })}
        autoFocus
      />
    </ActionDialog>
  )
}

function ExpireKey({ jwtKey, keys, onClose }: DialogProps) {
  const draft = `expire.${jwtKey.id}`
  const [{ expiry }, change] = useDraft(draft, { expiry: toExpiryInput(jwtKey.expireTime) })
  const expireTime = fromExpiryInput(expiry)
  const update = useKeyChanges(jwtKey).update({ expireTime: expireTime ?? null })
  const emptied = expireTime && emptiedBy([jwtKey], keys, expireTime)
  return (
    <ActionDialog
      title={`Expiry of ${quoted(jwtKey.label)}`}
      action="Save"
      draft={draft}
      onClose={onClose}
      {...update}
    >
      <ExpiryField
        value={expiry}
        description="The key is not published after this time. Leave empty for no expiry."
        onValue={(text) => change({ expiry: text })}
        autoFocus
      />
      {emptied && <LastExpiryWarning emptied={emptied} />}
    </ActionDialog>
  )
}
