import { Text } from '@mantine/core'
import type { JwtKey } from '@pubring/client'
import { quoted } from '../../components/user-text.tsx'
import { ActionDialog } from '../../forms/action-form.tsx'
import { useDraft } from '../../forms/drafts.ts'
import { LabelField } from '../../forms/label-field.tsx'
import { fieldOf } from '../../forms/text-fields.tsx'
import { ExpiryField, fromExpiryInput, toExpiryInput } from '../../forms/time-field.tsx'
import { useKeyChanges } from '../../keys/queries.ts'
import { useKeyRow } from '../../keys/states.ts'
import type { KeyAction } from './key-actions.ts'
import type { BulkAction } from './keys/bulk-actions.tsx'
import { BulkDialog, reasonMeanings } from './keys/bulk-dialog.tsx'
import { emptiedBy, LastExpiryWarning } from './last-active.tsx'
import { ReplaceKey } from './replace-key.tsx'

type DialogProps = { jwtKey: JwtKey; keys: JwtKey[]; onClose(): void }

/** The dialog for an action on a key. */
export function KeyDialog({ action, ...props }: DialogProps & { action: KeyAction }) {
  if (action === 'replace') return <ReplaceKey {...props} />
  if (action === 'rename') return <RenameKey {...props} />
  if (action === 'expire') return <ExpireKey {...props} />
  if (action === 'compromise') return <CompromisedKey {...props} />
  return <ChangeKey action={action} {...props} />
}

function CompromisedKey({ jwtKey, onClose }: DialogProps) {
  return (
    <ActionDialog
      title={`Was ${quoted(jwtKey.label)} compromised?`}
      action="It was compromised"
      danger
      onClose={onClose}
      {...useKeyChanges(jwtKey).update({ reason: 'compromised' })}
    >
      <Text>{reasonMeanings.compromised} This cannot be undone.</Text>
    </ActionDialog>
  )
}

function ChangeKey({ jwtKey, ...props }: DialogProps & { action: BulkAction }) {
  return <BulkDialog selected={[useKeyRow(jwtKey)]} {...props} />
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
        {...fieldOf({ label }, change, 'label')}
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
        {...fieldOf({ expiry }, change, 'expiry')}
        description="The key is not published after this time. Leave empty for no expiry."
        autoFocus
      />
      {emptied && <LastExpiryWarning emptied={emptied} />}
    </ActionDialog>
  )
}
