import { Button, Card, Menu } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import type { TrustPolicy } from '../../../../client/src/index.ts'
import { ActionsMenu } from '../../components/actions-menu.tsx'
import { CurlHint } from '../../components/curl.tsx'
import { DataTable, RowName } from '../../components/data-table.tsx'
import { StateBadge, stateOf } from '../../components/state-badge.tsx'
import { EmptyState, MessagePage, PageHeader, QueryResult } from '../../components/states.tsx'
import { OptionalTime } from '../../components/times.tsx'
import { withVisibleControls } from '../../components/user-text.tsx'
import { useOpenDialog } from '../../forms/drafts.ts'
import { useSession } from '../../session/context.tsx'
import { useRights } from '../../session/rights.ts'
import { type PolicyAction, PolicyDialog, policyActions } from './dialogs.tsx'
import { PolicySentence } from './sentence.tsx'

/** By which rules workloads exchange the tokens of their platforms for API keys. */
export function TrustPoliciesPage() {
  const { client } = useSession()
  const { mayManage } = useRights()
  const [open, setOpen] = useOpenDialog('trust-policies', policyActions)
  const query = useQuery({
    queryKey: ['trust-policies'],
    queryFn: ({ signal }) => client.trustPolicies.list({ signal }),
    enabled: mayManage,
  })
  if (!mayManage) {
    return (
      <MessagePage title="Trust policies">
        Only an admin of all projects can manage trust policies.
      </MessagePage>
    )
  }
  return (
    <>
      <PageHeader
        title="Trust policies"
        actions={
          <Button
            leftSection={<IconPlus size={16} />}
            onClick={() => setOpen({ action: 'create', id: '' })}
          >
            New policy
          </Button>
        }
      >
        Workloads exchange the token that their platform gives them for an API key of minutes, so
        that no secret is stored. Changes end the exchanged API keys with the next request.
      </PageHeader>
      <QueryResult query={query}>
        {(policies) => (
          <Card withBorder padding="sm" mb="sm">
            {policies.length === 0 ? (
              <EmptyState title="No trust policies yet">
                Create one for each pipeline that registers keys, with the lowest role that it
                needs.
              </EmptyState>
            ) : (
              <PolicyTable policies={policies} onAction={(action, id) => setOpen({ action, id })} />
            )}
            {open !== undefined && (
              <PolicyDialog
                action={open.action}
                policy={policies.find(({ id }) => id === open.id)}
                onClose={() => setOpen(undefined)}
              />
            )}
          </Card>
        )}
      </QueryResult>
      <CurlHint path="/trust-policies" />
    </>
  )
}

function PolicyTable(props: {
  policies: TrustPolicy[]
  onAction(action: PolicyAction, id: string): void
}) {
  const { policies, onAction } = props
  return (
    <DataTable
      rows={policies}
      columns={[
        { title: 'Status', cell: (row) => <StateBadge state={stateOf(row, 'inactive')} /> },
        { title: 'Name', cell: ({ name }) => <RowName>{name}</RowName> },
        { title: 'What it allows', cell: (row) => <PolicySentence policy={row} /> },
        {
          title: 'Last exchange',
          cell: ({ lastExchangeTime }) => <OptionalTime time={lastExchangeTime} />,
        },
        {
          title: 'Actions',
          cell: ({ id, name, active }) => (
            <ActionsMenu name={withVisibleControls(name)}>
              <Menu.Item onClick={() => onAction('check', id)}>Check a token</Menu.Item>
              <Menu.Divider />
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
