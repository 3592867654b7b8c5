import { Card, Menu } from '@mantine/core'
import type { Person } from '@pubring/client'
import { useLocation } from 'wouter'
import { ActionsMenu } from '../../components/actions-menu.tsx'
import { CurlHint } from '../../components/curl.tsx'
import { DataTable, RowName, TwoLines } from '../../components/data-table.tsx'
import { Facts } from '../../components/facts.tsx'
import { rowNames } from '../../components/ids.ts'
import { EmptyState, PageHeader, QueryResult } from '../../components/states.tsx'
import { RelativeTime } from '../../components/times.tsx'
import { quoted, UserText, withVisibleControls } from '../../components/user-text.tsx'
import { nameOfPerson } from '../../events/actor.tsx'
import { ActionDialog } from '../../forms/action-form.tsx'
import { useOpenDialog } from '../../forms/drafts.ts'
import { useApi, useChange } from '../../session/api.ts'
import { useRights } from '../../session/rights.ts'
import { EndSessions } from './sessions.tsx'

/** All people who have signed in through the OpenID provider. */
export function PeoplePage() {
  const query = useApi(['people'], (client, signal) => client.people.list({ signal }))
  return (
    <>
      <PageHeader title="People">
        All people who have signed in through the OpenID provider. The ledger identifies them by
        issuer and subject; name and email stand here alone, and can be erased.
      </PageHeader>
      <QueryResult query={query}>{(people) => <PeopleTable people={people} />}</QueryResult>
      <CurlHint path="/people" />
    </>
  )
}

const actions = ['end-all', 'erase'] as const

function PeopleTable({ people }: { people: Person[] }) {
  const { mayManage } = useRights()
  const [, navigate] = useLocation()
  const [open, setOpen] = useOpenDialog('person', actions)
  const person = people.find(({ id }) => id === open?.id)
  const close = () => setOpen(undefined)
  const rowName = rowNames(people, (row) => withVisibleControls(nameOfPerson(row)))
  return (
    <Card withBorder padding="sm" mb="sm">
      {people.length === 0 ? (
        <EmptyState title="No sign-ins yet">
          People appear here when they sign in through the OpenID provider.
        </EmptyState>
      ) : (
        <DataTable
          rows={people}
          columns={[
            {
              title: 'Name',
              cell: (row) => (
                <TwoLines below={<UserText>{row.email ?? ''}</UserText>}>
                  <RowName>{nameOfPerson(row)}</RowName>
                </TwoLines>
              ),
            },
            { title: 'Subject', cell: (row) => <Identity person={row} /> },
            { title: 'First sign-in', cell: (row) => <RelativeTime time={row.firstSignInTime} /> },
            { title: 'Last sign-in', cell: (row) => <RelativeTime time={row.lastSignInTime} /> },
            {
              title: 'Actions',
              cell: (row) => (
                <ActionsMenu
                  name={rowName(row)}
                  frequent={{
                    label: 'History',
                    onClick: () => navigate(`/history?person=${encodeURIComponent(row.subject)}`),
                  }}
                >
                  {mayManage && (
                    <>
                      <Menu.Item onClick={() => setOpen({ action: 'end-all', id: row.id })}>
                        End all sessions
                      </Menu.Item>
                      <Menu.Item
                        className="warning"
                        onClick={() => setOpen({ action: 'erase', id: row.id })}
                      >
                        Erase
                      </Menu.Item>
                    </>
                  )}
                </ActionsMenu>
              ),
            },
          ]}
        />
      )}
      {open?.action === 'end-all' && person !== undefined && (
        <EndSessions ofPerson={person.id} name={nameOfPerson(person)} onClose={close} />
      )}
      {open?.action === 'erase' && person !== undefined && (
        <ErasePerson person={person} onClose={close} />
      )}
    </Card>
  )
}

function Identity({ person: { issuer, subject } }: { person: Person }) {
  return (
    <TwoLines below={<UserText>{issuer}</UserText>}>
      <UserText mono>{subject}</UserText>
    </TwoLines>
  )
}

function ErasePerson({ person, onClose }: { person: Person; onClose(): void }) {
  // Everything: events show the name too.
  const change = useChange([])
  return (
    <ActionDialog
      title={`Erase ${quoted(nameOfPerson(person))}?`}
      action="Erase person"
      danger
      request={{ method: 'DELETE', path: `/people/${person.id}` }}
      run={() => change((client) => client.people.delete(person.id))}
      onClose={onClose}
    >
      <Facts
        name="The person"
        facts={{
          Name: <UserText>{nameOfPerson(person)}</UserText>,
          Email: <UserText>{person.email ?? 'none'}</UserText>,
          Subject: <Identity person={person} />,
          'Last sign-in': <RelativeTime time={person.lastSignInTime} />,
        }}
      />
      Name and email are erased for good, and all sessions end. The ledger keeps issuer and subject.
      If an access rule still applies to the person, they can sign in again.
    </ActionDialog>
  )
}
