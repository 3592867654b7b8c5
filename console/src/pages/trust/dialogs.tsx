import { useQueryClient } from '@tanstack/react-query'
import type { TrustPolicy } from '../../../../client/src/index.ts'
import { Fact, Facts } from '../../components/facts.tsx'
import { OptionalTime } from '../../components/times.tsx'
import { withVisibleControls } from '../../components/user-text.tsx'
import { ActionDialog } from '../../forms/action-form.tsx'
import { useSession } from '../../session/context.tsx'
import type { ManagedAction } from '../managed-page.tsx'
import { CheckToken } from './check-token.tsx'
import { CreatePolicy } from './create-dialog.tsx'
import { PolicySentence } from './sentence.tsx'

type PolicyAction = ManagedAction<'check'>

type DialogProps = { policy: TrustPolicy; onClose(): void }

/** The dialog for an action on a policy, which must exist unless it is to be created. */
export function PolicyDialog(props: {
  action: PolicyAction
  policy: TrustPolicy | undefined
  onClose(): void
}) {
  const { action, policy, onClose } = props
  if (action === 'create') return <CreatePolicy onClose={onClose} />
  if (policy === undefined) return null
  if (action === 'check') return <CheckToken policy={policy} onClose={onClose} />
  if (action === 'delete') return <DeletePolicy policy={policy} onClose={onClose} />
  return <SetActive policy={policy} active={action === 'activate'} onClose={onClose} />
}

const quoted = ({ name }: TrustPolicy) => `“${withVisibleControls(name)}”`

function SetActive({ policy, active, onClose }: DialogProps & { active: boolean }) {
  const { client } = useSession()
  const queries = useQueryClient()
  const action = active ? 'Activate' : 'Deactivate'
  return (
    <ActionDialog
      title={`${action} ${quoted(policy)}?`}
      action={action}
      danger={!active}
      request={{ method: 'PATCH', path: `/trust-policies/${policy.id}`, body: { active } }}
      run={async () => {
        await client.trustPolicies.update(policy.id, { active })
        await queries.invalidateQueries({ queryKey: ['trust-policies'] })
      }}
      onClose={onClose}
    >
      <PolicyFacts policy={policy} />
      {active
        ? 'Its workloads can exchange tokens again.'
        : 'No token is exchanged any more, and the API keys that were exchanged are rejected with their next request.'}
    </ActionDialog>
  )
}

function DeletePolicy({ policy, onClose }: DialogProps) {
  const { client } = useSession()
  const queries = useQueryClient()
  return (
    <ActionDialog
      title={`Delete ${quoted(policy)}?`}
      action="Delete permanently"
      danger
      request={{ method: 'DELETE', path: `/trust-policies/${policy.id}` }}
      run={async () => {
        await client.trustPolicies.delete(policy.id)
        await queries.invalidateQueries({ queryKey: ['trust-policies'] })
      }}
      onClose={onClose}
    >
      <PolicyFacts policy={policy} />
      The API keys that were exchanged under it are rejected with their next request. Its history
      stays in the ledger.
    </ActionDialog>
  )
}

function PolicyFacts({ policy }: { policy: TrustPolicy }) {
  return (
    <Facts name="The policy">
      <Fact name="What it allows">
        <PolicySentence policy={policy} />
      </Fact>
      <Fact name="Last exchange">
        <OptionalTime time={policy.lastExchangeTime} />
      </Fact>
    </Facts>
  )
}
