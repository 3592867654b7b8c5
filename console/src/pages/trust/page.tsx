import type { TrustPolicy } from '../../../../client/src/index.ts'
import { RowName } from '../../components/data-table.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { OptionalTime } from '../../components/times.tsx'
import { type ManagedKind, usualWords } from '../managed-dialogs.tsx'
import { ManagedPage } from '../managed-page.tsx'
import { CheckToken } from './check-token.tsx'
import { CreatePolicy } from './create-dialog.tsx'
import { PolicySentence } from './sentence.tsx'

const trustPolicies: ManagedKind<TrustPolicy> = {
  path: 'trust-policies',
  operations: (client) => client.trustPolicies,
  words: usualWords,
  facts: (policy) => (
    <Facts name="The policy">
      <Fact name="What it allows">
        <PolicySentence policy={policy} />
      </Fact>
      <Fact name="Last exchange">
        <OptionalTime time={policy.lastExchangeTime} />
      </Fact>
    </Facts>
  ),
  consequences: {
    activate: 'Its workloads can exchange tokens again.',
    deactivate:
      'No token is exchanged any more, and the API keys that were exchanged are rejected with their next request.',
    delete:
      'The API keys that were exchanged under it are rejected with their next request. Its history stays in the ledger.',
  },
}

/** By which rules workloads exchange the tokens of their platforms for API keys. */
export function TrustPoliciesPage() {
  return (
    <ManagedPage
      kind={trustPolicies}
      title="Trust policies"
      description="Workloads exchange the token that their platform gives them for an API key of minutes, so that no secret is stored. Changes end the exchanged API keys with the next request."
      newLabel="New policy"
      empty={{
        title: 'No trust policies yet',
        advice:
          'Create one for each pipeline that registers keys, with the lowest role that it needs.',
      }}
      columns={[
        { title: 'Name', cell: ({ name }) => <RowName>{name}</RowName> },
        { title: 'What it allows', cell: (policy) => <PolicySentence policy={policy} /> },
        {
          title: 'Last exchange',
          cell: ({ lastExchangeTime }) => <OptionalTime time={lastExchangeTime} />,
        },
      ]}
      ownAction={{ action: 'check', label: 'Check a token' }}
      dialog={({ row, onClose }) =>
        row === undefined ? (
          <CreatePolicy onClose={onClose} />
        ) : (
          <CheckToken policy={row} onClose={onClose} />
        )
      }
    />
  )
}
