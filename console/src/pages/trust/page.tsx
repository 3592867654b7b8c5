import { RowName } from '../../components/data-table.tsx'
import { OptionalTime } from '../../components/times.tsx'
import { useSession } from '../../session/context.tsx'
import { ManagedPage } from '../managed-page.tsx'
import { PolicyDialog } from './dialogs.tsx'
import { PolicySentence } from './sentence.tsx'

/** By which rules workloads exchange the tokens of their platforms for API keys. */
export function TrustPoliciesPage() {
  const { client } = useSession()
  return (
    <ManagedPage
      path="trust-policies"
      title="Trust policies"
      description="Workloads exchange the token that their platform gives them for an API key of minutes, so that no secret is stored. Changes end the exchanged API keys with the next request."
      newLabel="New policy"
      empty={{
        title: 'No trust policies yet',
        advice:
          'Create one for each pipeline that registers keys, with the lowest role that it needs.',
      }}
      list={client.trustPolicies.list}
      columns={[
        { title: 'Name', cell: ({ name }) => <RowName>{name}</RowName> },
        { title: 'What it allows', cell: (policy) => <PolicySentence policy={policy} /> },
        {
          title: 'Last exchange',
          cell: ({ lastExchangeTime }) => <OptionalTime time={lastExchangeTime} />,
        },
      ]}
      ownAction={{ action: 'check', label: 'Check a token' }}
      dialog={({ action, row, onClose }) => (
        <PolicyDialog action={action} policy={row} onClose={onClose} />
      )}
    />
  )
}
