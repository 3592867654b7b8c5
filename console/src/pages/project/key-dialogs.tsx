import { Stack, Text } from '@mantine/core'
import type { JwtKey } from '@pubring/client'
import { useMutation } from '@tanstack/react-query'
import { Dialog } from '../../components/dialog.tsx'
import { KeyIdentity } from '../../components/key-identity.tsx'
import { ErrorNotice } from '../../components/states.tsx'
import { quoted } from '../../components/text.tsx'
import { ActionDialog, ActionForm, clearDraft, useDraft } from '../../forms/action-form.tsx'
import { LabelField } from '../../forms/label-field.tsx'
import { fieldOf } from '../../forms/text-fields.tsx'
import { ExpiryField, fromExpiryInput, toExpiryInput } from '../../forms/time-field.tsx'
import { useKeyChanges, useKeyRow } from '../../keys/queries.ts'
import { useSession } from '../../session/session.tsx'
import type { KeyAction } from './key-actions.ts'
import { KeyForm } from './key-form.tsx'
import type { BulkAction } from './keys/bulk-actions.tsx'
import { BulkDialog, reasonMeanings } from './keys/bulk-dialog.tsx'
import { emptiedBy, LastActiveWarning, LastExpiryWarning } from './last-active.tsx'
import { NewKeyInstructions } from './new-key.tsx'
import { Revocations } from './revocation.tsx'

type DialogProps = { jwtKey: JwtKey; keys: JwtKey[]; onClose(): void }

export function KeyDialog({ action, ...props }: DialogProps & { action: KeyAction }) {
  if (action === 'replace') return <ReplaceKey {...props} />
  if (action === 'rename') return <RenameKey {...props} />
  if (action === 'expire') return <ExpireKey {...props} />
  if (action === 'compromise') return <CompromisedKey {...props} />
  return <ChangeKey action={action} {...props} />
}

const CompromisedKey = ({ jwtKey, onClose }: DialogProps) => (
  <ActionDialog
    title={`Was ${quoted(jwtKey.label)} compromised?`}
    action="It was compromised"
    danger
    onClose={onClose}
    {...useKeyChanges(jwtKey).update({ reason: 'compromised' })}
  >
    <Text size="md">{reasonMeanings.compromised} This cannot be undone.</Text>
  </ActionDialog>
)

const ChangeKey = ({ jwtKey, ...props }: DialogProps & { action: BulkAction }) => (
  <BulkDialog selected={[useKeyRow(jwtKey)]} {...props} />
)

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

/** Registers a new key and revokes a compromised one, at once and in this order. */
function ReplaceKey(props: { jwtKey: JwtKey; keys: JwtKey[]; onClose(): void }) {
  const { jwtKey, keys, onClose } = props
  const { id, projectId, label } = jwtKey
  const draft = `replaced.${id}`
  const [{ successor }, change] = useDraft(draft, { successor: '' })
  const row = useKeyRow(jwtKey)
  const revoke = useKeyChanges(jwtKey).update({ active: false })
  const { client, withSignIn } = useSession()
  const { mutate, error, isPending } = useMutation({
    mutationFn: () => withSignIn(() => revoke.send(client), 'Revoke now').then(revoke.onSent),
  })
  const emptied = successor === '' ? emptiedBy([jwtKey], keys) : undefined
  function close() {
    clearDraft(draft)
    onClose()
  }
  return (
    <Dialog
      title={`Replace ${quoted(label)} and revoke it now`}
      onClose={close}
      size="xl"
      centered={false}
    >
      <Stack>
        <Revocations rows={[row]} />
        {row.active && (
          <>
            <KeyIdentity jwtKey={jwtKey} />
            <Text size="md">
              Others may have its private key, and sign tokens that verifiers accept. Do not wait
              for verifiers to load the new key: until they have, they reject its tokens, which is
              better than accepting an attacker’s. A compromised key is never activated again.
            </Text>
            {successor !== '' && (
              <Text size="md" role="status" fw={600}>
                The new key is registered. {isPending ? 'Revoking' : 'Now revoke'} the old key
                {isPending ? '…' : ', which is still active.'}
              </Text>
            )}
            {error !== null && <ErrorNotice error={error} />}
            {!isPending && (
              <ActionForm
                action={successor === '' ? 'Revoke without a new key' : 'Revoke now'}
                danger
                {...revoke}
              >
                {emptied && <LastActiveWarning emptied={emptied} />}
              </ActionForm>
            )}
            {successor === '' && (
              <KeyForm
                projectId={projectId}
                action="Replace and revoke now"
                isUrgent
                onCancel={close}
                onRegistered={(kid) => {
                  change({ successor: kid })
                  mutate()
                }}
              />
            )}
          </>
        )}
        {successor !== '' && !row.active && (
          <NewKeyInstructions projectId={projectId} kid={successor} urgent />
        )}
      </Stack>
    </Dialog>
  )
}
