import type { AccessRule } from '../../../../client/src/index.ts'
import { RowName } from '../../components/data-table.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { OptionalTime } from '../../components/times.tsx'
import { type ManagedKind, usualWords } from '../managed-dialogs.tsx'
import { ManagedPage } from '../managed-page.tsx'
import { CheckToken } from './check-token.tsx'
import { CreateRule } from './create-dialog.tsx'
import { RuleSentence } from './sentence.tsx'

const accessRules: ManagedKind<AccessRule> = {
  path: 'access-rules',
  operations: (client) => client.accessRules,
  words: usualWords,
  facts: (rule) => (
    <Facts name="The rule">
      <Fact name="What it allows">
        <RuleSentence rule={rule} />
      </Fact>
      <Fact name="Last exchange">
        <OptionalTime time={rule.lastExchangeTime} />
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
export function AccessRulesPage() {
  return (
    <ManagedPage
      kind={accessRules}
      title="Access rules"
      description="Workloads exchange the token that their platform gives them for an API key of minutes, so that no secret is stored. Changes end the exchanged API keys with the next request."
      newLabel="New rule"
      empty={{
        title: 'No access rules yet',
        advice:
          'Create one for each pipeline that registers keys, with the lowest role that it needs.',
      }}
      columns={[
        { title: 'Name', cell: ({ name }) => <RowName>{name}</RowName> },
        { title: 'What it allows', cell: (rule) => <RuleSentence rule={rule} /> },
        {
          title: 'Last exchange',
          cell: ({ lastExchangeTime }) => <OptionalTime time={lastExchangeTime} />,
        },
      ]}
      ownAction={{ action: 'check', label: 'Check a token' }}
      dialog={({ row, onClose }) =>
        row === undefined ? (
          <CreateRule onClose={onClose} />
        ) : (
          <CheckToken rule={row} onClose={onClose} />
        )
      }
    />
  )
}
