import { useQueryClient } from '@tanstack/react-query'
import { withVisibleControls } from '../../components/user-text.tsx'
import { ActionDialog } from '../../forms/action-form.tsx'
import { useSession } from '../../session/context.tsx'

/** Ends all sessions of a person. */
export function EndSessionsOfPerson(props: { id: string; name: string; onClose(): void }) {
  const { id, name, onClose } = props
  const { client } = useSession()
  const queries = useQueryClient()
  return (
    <ActionDialog
      title={`End all sessions of “${withVisibleControls(name)}”?`}
      action="End all sessions"
      danger
      request={{ method: 'DELETE', path: `/sessions?person=${id}` }}
      run={async () => {
        await client.sessions.endAll(id)
        await queries.invalidateQueries({ queryKey: ['sessions'] })
      }}
      onClose={onClose}
    >
      Every browser of this person must sign in again. To keep a person out, change the sign-in
      rules or the account at the OpenID provider.
    </ActionDialog>
  )
}
