import { Badge, Text } from '@mantine/core'
import type { SignInRule } from '../../../../client/src/index.ts'
import { ConditionList } from '../../components/conditions.tsx'
import { RowName } from '../../components/data-table.tsx'
import { ProjectName } from '../../components/project-name.tsx'
import { UserText } from '../../components/user-text.tsx'
import { useSession } from '../../session/context.tsx'
import { ManagedPage } from '../managed-page.tsx'
import { RuleDialog } from './rule-dialogs.tsx'

/** Which claims of the OpenID provider give which role. */
export function SignInRulesPage() {
  const { client } = useSession()
  return (
    <ManagedPage
      path="sign-in-rules"
      title="Sign-in rules"
      description="People have the roles of all rules that their claims meet; without one there is no entry. Changes take effect with the next request."
      newLabel="New rule"
      empty={{
        title: 'No sign-in rules yet',
        advice: 'Create one for each group of people, with the lowest role that it needs.',
      }}
      list={client.signInRules.list}
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
        {
          title: 'Project',
          cell: ({ projectId }) =>
            projectId === undefined ? 'all projects' : <ProjectName id={projectId} />,
        },
      ]}
      ownAction={{ action: 'edit', label: 'Edit' }}
      dialog={({ action, row, onClose }) => (
        <RuleDialog action={action} rule={row} onClose={onClose} />
      )}
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
