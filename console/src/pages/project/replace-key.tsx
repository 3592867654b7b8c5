import { Stack, Text } from '@mantine/core'
import type { JwtKey } from '@pubring/client'
import { useMutation } from '@tanstack/react-query'
import { Dialog } from '../../components/dialog.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { KeyIdentity } from '../../components/key-identity.tsx'
import { quoted } from '../../components/user-text.tsx'
import { ActionForm } from '../../forms/action-form.tsx'
import { clearDraft, useDraft } from '../../forms/drafts.ts'
import { useKeyChanges } from '../../keys/queries.ts'
import { useKeyRow } from '../../keys/states.ts'
import { useSession } from '../../session/context.tsx'
import { KeyForm } from './key-form.tsx'
import { emptiedBy, LastActiveWarning } from './last-active.tsx'
import { NewKeyInstructions } from './new-key.tsx'
import { Revocations } from './revocation.tsx'

/** Registers a new key and revokes a compromised one, at once and in this order. */
export function ReplaceKey(props: { jwtKey: JwtKey; keys: JwtKey[]; onClose(): void }) {
  const { jwtKey, keys, onClose } = props
  const { id, projectId, label } = jwtKey
  const draft = `replaced.${id}`
  const [{ successor }, change] = useDraft(draft, { successor: '' })
  const row = useKeyRow(jwtKey)
  const revoke = useKeyChanges(jwtKey).update({ active: false })
  const { withSignIn } = useSession()
  const { mutate, reset, error, isPending } = useMutation({
    mutationFn: () => withSignIn(revoke.run, 'Revoke now'),
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
            <Text>
              Others may have its private key, and sign tokens that verifiers accept. Do not wait
              for verifiers to load the new key: until they have, they reject its tokens, which is
              better than accepting an attacker’s. A compromised key is never activated again. If
              you have no new key yet, use the last button.
            </Text>
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
            {successor !== '' && (
              <Text role="status" fw={600}>
                The new key is registered. {isPending ? 'Revoking' : 'Now revoke'} the old key
                {isPending ? '…' : ', which is still active.'}
              </Text>
            )}
            {error !== null && <ErrorNotice error={error} />}
            {!isPending && (
              <ActionForm
                action={successor === '' ? 'Revoke without a new key' : 'Revoke now'}
                danger
                request={revoke.request}
                run={() => {
                  reset()
                  return revoke.run()
                }}
              >
                {emptied && <LastActiveWarning emptied={emptied} />}
              </ActionForm>
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
