import { Badge, Button, Card, Menu, Text } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import type { SignInRule } from '../../../../client/src/index.ts'
import { ActionsMenu } from '../../components/actions-menu.tsx'
import { ConditionList } from '../../components/conditions.tsx'
import { CurlHint } from '../../components/curl.tsx'
import { DataTable, RowName } from '../../components/data-table.tsx'
import { ProjectName } from '../../components/project-name.tsx'
import { StateBadge, stateOf } from '../../components/state-badge.tsx'
import { EmptyState, MessagePage, PageHeader, QueryResult } from '../../components/states.tsx'
import { UserText, withVisibleControls } from '../../components/user-text.tsx'
import { useOpenDialog } from '../../forms/drafts.ts'
import { useSession } from '../../session/context.tsx'
import { useRights } from '../../session/rights.ts'
import { type RuleAction, RuleDialog, ruleActions } from './rule-dialogs.tsx'

/** Which claims of the OpenID provider give which role. */
export function SignInRulesPage() {
  const { client } = useSession()
  const { mayManage } = useRights()
  const [open, setOpen] = useOpenDialog('sign-in-rules', ruleActions)
  const query = useQuery({
    queryKey: ['sign-in-rules'],
    queryFn: ({ signal }) => client.signInRules.list({ signal }),
    enabled: mayManage,
  })
  if (!mayManage) {
    return (
      <MessagePage title="Sign-in rules">
        Only an admin of all projects can manage sign-in rules.
      </MessagePage>
    )
  }
  const create = () => setOpen({ action: 'create', id: '' })
  return (
    <>
      <PageHeader
        title="Sign-in rules"
        actions={
          <Button leftSection={<IconPlus size={16} />} onClick={create}>
            New rule
          </Button>
        }
      >
        People have the roles of all rules that their claims meet; without one there is no entry.
        Changes take effect with the next request.
      </PageHeader>
      <QueryResult query={query}>
        {(rules) => (
          <Card withBorder padding="sm" mb="sm">
            {rules.length === 0 ? (
              <EmptyState title="No sign-in rules yet">
                Create one for each group of people, with the lowest role that it needs.
              </EmptyState>
            ) : (
              <RuleTable rules={rules} onAction={(action, id) => setOpen({ action, id })} />
            )}
            {open !== undefined && (
              <RuleDialog
                action={open.action}
                rule={rules.find(({ id }) => id === open.id)}
                onClose={() => setOpen(undefined)}
              />
            )}
          </Card>
        )}
      </QueryResult>
      <CurlHint path="/sign-in-rules" />
    </>
  )
}

function RuleTable(props: { rules: SignInRule[]; onAction(action: RuleAction, id: string): void }) {
  const { rules, onAction } = props
  return (
    <DataTable
      rows={rules}
      columns={[
        { title: 'Status', cell: (row) => <StateBadge state={stateOf(row, 'inactive')} /> },
        { title: 'Name', cell: (row) => <RuleName rule={row} /> },
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
        {
          title: 'Actions',
          cell: ({ id, name, active }) => (
            <ActionsMenu name={withVisibleControls(name)}>
              <Menu.Item onClick={() => onAction('edit', id)}>Edit</Menu.Item>
              <Menu.Item onClick={() => onAction(active ? 'deactivate' : 'activate', id)}>
                {active ? 'Deactivate' : 'Activate'}
              </Menu.Item>
              <Menu.Item className="warning" onClick={() => onAction('delete', id)}>
                Delete
              </Menu.Item>
            </ActionsMenu>
          ),
        },
      ]}
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
