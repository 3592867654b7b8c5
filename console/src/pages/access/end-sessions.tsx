import { quoted } from '../../components/user-text.tsx'
import { ActionDialog } from '../../forms/action-form.tsx'
import { useChange } from '../../session/api.ts'

/** Ends all sessions of a person. */
export function EndSessionsOfPerson(props: { id: string; name: string; onClose(): void }) {
  const { id, name, onClose } = props
  const change = useChange(['sessions'])
  return (
    <ActionDialog
      title={`End all sessions of ${quoted(name)}?`}
      action="End all sessions"
      danger
      request={{ method: 'DELETE', path: `/sessions?person=${id}` }}
      run={() => change((client) => client.sessions.endAll(id))}
      onClose={onClose}
    >
      Every browser of this person must sign in again. To keep a person out, change the access rules
      or the account at the OpenID provider.
    </ActionDialog>
  )
}
