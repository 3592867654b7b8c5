import { Badge, Text } from '@mantine/core'
import type { SignInRule } from '../../../../client/src/index.ts'
import { ConditionList } from '../../components/conditions.tsx'
import { RowName } from '../../components/data-table.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { ProjectName } from '../../components/project-name.tsx'
import { UserText } from '../../components/user-text.tsx'
import { type ManagedKind, usualWords } from '../managed-dialogs.tsx'
import { ManagedPage } from '../managed-page.tsx'
import { CreateRule, EditRule } from './rule-dialogs.tsx'

const signInRules: ManagedKind<SignInRule> = {
  path: 'sign-in-rules',
  operations: (client) => client.signInRules,
  words: usualWords,
  facts: ({ conditions, role }) => (
    <Facts name="The rule">
      <Fact name="Conditions">
        <ConditionList conditions={conditions} />
      </Fact>
      <Fact name="Role">{role}</Fact>
    </Facts>
  ),
  consequences: {
    activate: 'People who meet the conditions have the role from their next request.',
    deactivate:
      'People have this role no more from their next request. Without another role, their sessions are rejected.',
    delete:
      'People have this role no more from their next request. The history of the rule stays in the ledger.',
  },
}

/** Which claims of the OpenID provider give which role. */
export function SignInRulesPage() {
  return (
    <ManagedPage
      kind={signInRules}
      title="Sign-in rules"
      description="People have the roles of all rules that their claims meet; without one there is no entry. Changes take effect with the next request."
      newLabel="New rule"
      empty={{
        title: 'No sign-in rules yet',
        advice: 'Create one for each group of people, with the lowest role that it needs.',
      }}
      columns={[
        { title: 'Name', cell: (rule) => <RuleName rule={rule} /> },
        {
          title: 'Conditions',
          cell: ({ conditions }) => <ConditionList conditions={conditions} />,
        },
        {
          title: 'Role',
          cell: ({ role }) => (
            <Badge variant="default" tt="none">
              {role}
            </Badge>
          ),
        },
        { title: 'Project', cell: ({ projectId }) => <ProjectName id={projectId} /> },
      ]}
      ownAction={{ action: 'edit', label: 'Edit' }}
      dialog={({ row, onClose }) =>
        row === undefined ? (
          <CreateRule onClose={onClose} />
        ) : (
          <EditRule rule={row} onClose={onClose} />
        )
      }
    />
  )
}

function RuleName({ rule: { name, issuer } }: { rule: SignInRule }) {
  return (
    <div>
      <RowName>{name}</RowName>
      <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        <UserText>{issuer}</UserText>
      </Text>
    </div>
  )
}
