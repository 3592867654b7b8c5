import { Card } from '@mantine/core'
import type { Person, Session } from '@pubring/client'
import { useLocation } from 'wouter'
import { CurlHint } from '../components/curl.tsx'
import {
  ActionsMenu,
  type Column,
  DataTable,
  RowFacts,
  RowName,
  TwoLines,
} from '../components/data-table.tsx'
import { EmptyState, PageHeader, QueryResult } from '../components/states.tsx'
import { quoted, RelativeTime, rowNames, UserText } from '../components/text.tsx'
import { nameOfPerson } from '../events/actor.tsx'
import { ActionDialog, useOpenDialog } from '../forms/action-form.tsx'
import { useApi, useRights, useSession } from '../session/session.tsx'

export function PeoplePage() {
  const query = useApi(['people'], (client, signal) => client.people.list({ signal }))
  return (
    <>
      <PageHeader title="People">
        All people who have signed in through the OpenID provider. The ledger identifies them by
        issuer and subject; name and email stand here alone, and can be erased.
      </PageHeader>
      <QueryResult query={query}>{(people) => <PeopleTable people={people} />}</QueryResult>
      <CurlHint send={(client) => client.people.list()} />
    </>
  )
}

const personColumns: Column<Person>[] = [
  { title: 'Name', cell: (row) => <Named name={nameOfPerson(row)} below={row.email} /> },
  { title: 'Subject', cell: (row) => <Identity person={row} /> },
  { title: 'First sign-in', cell: (row) => <RelativeTime time={row.firstSignInTime} /> },
  { title: 'Last sign-in', cell: (row) => <RelativeTime time={row.lastSignInTime} /> },
]

function PeopleTable({ people }: { people: Person[] }) {
  const { mayManage } = useRights()
  const [, navigate] = useLocation()
  const [open, setOpen] = useOpenDialog('person', ['end-all', 'erase'])
  const person = people.find(({ id }) => id === open?.id)
  const close = () => setOpen(undefined)
  const nameOf = rowNames(people, nameOfPerson)
  const menu = (row: Person) => {
    const { id, subject } = row
    const history = () => navigate(`/history?person=${encodeURIComponent(subject)}`)
    const changes = [
      { label: 'End all sessions', onClick: () => setOpen({ action: 'end-all', id }) },
      { label: 'Erase', isDangerous: true, onClick: () => setOpen({ action: 'erase', id }) },
    ]
    const frequent = { label: 'History', onClick: history }
    return <ActionsMenu name={nameOf(row)} frequent={frequent} actions={mayManage ? changes : []} />
  }
  return (
    <Card withBorder padding="sm" mb="sm">
      {people.length === 0 ? (
        <EmptyState title="No sign-ins yet">
          People appear here when they sign in through the provider that PUBRING_OIDC_ISSUER names.
        </EmptyState>
      ) : (
        <DataTable rows={people} columns={[...personColumns, { title: 'Actions', cell: menu }]} />
      )}
      {open?.action === 'end-all' && person !== undefined && (
        <EndSessions person={person} onClose={close} />
      )}
      {open?.action === 'erase' && person !== undefined && (
        <ErasePerson person={person} onClose={close} />
      )}
    </Card>
  )
}

const Named = ({ name, below = '' }: { name: string; below?: string | undefined }) => (
  <TwoLines below={<UserText>{below}</UserText>}>
    <RowName>{name}</RowName>
  </TwoLines>
)

const Identity = ({ person: { issuer, subject } }: { person: Person }) => (
  <TwoLines below={<UserText>{issuer}</UserText>}>
    <UserText mono>{subject}</UserText>
  </TwoLines>
)

const ErasePerson = ({ person, onClose }: { person: Person; onClose(): void }) => (
  <ActionDialog
    title={`Erase ${quoted(nameOfPerson(person))}?`}
    action="Erase person"
    danger
    // Everything: events show the name too.
    changes={[[]]}
    send={(client) => client.people.delete(person.id)}
    onClose={onClose}
  >
    <RowFacts name="The person" row={person} columns={personColumns} />
    Name and email are erased for good, and all sessions end. The ledger keeps issuer and subject.
    If an access rule still applies to the person, they can sign in again.
  </ActionDialog>
)

/** The live sessions: the user's own or, for admins and auditors of all projects, all. */
export function SessionsPage() {
  const { mayAudit } = useRights()
  const query = useApi(['sessions'], (client, signal) => client.sessions.list({ signal }))
  return (
    <>
      <PageHeader title="Sessions">
        {mayAudit ? 'All signed-in browsers and command lines.' : 'Where you are signed in.'} A
        session that is ended is rejected with its next request.
      </PageHeader>
      <QueryResult query={query}>{(sessions) => <SessionTable sessions={sessions} />}</QueryResult>
      <CurlHint send={(client) => client.sessions.list()} />
    </>
  )
}

function SessionTable({ sessions }: { sessions: Session[] }) {
  const { mayManage } = useRights()
  const { self } = useSession()
  const mayEnd = ({ personId, apiKeyId }: Session) =>
    mayManage || (personId === self.person?.id && apiKeyId === self.apiKeyId)
  const [open, setOpen] = useOpenDialog('session', ['end'])
  const session = sessions.find(({ id }) => id === open?.id)
  const nameOf = rowNames(sessions, ({ name }) => name)
  const menu = (row: Session) => {
    const end = () => setOpen({ action: 'end', id: row.id })
    const action = row.current
      ? { label: 'Sign out to end this session' }
      : { label: 'End session', isDangerous: true, onClick: end }
    return mayEnd(row) && <ActionsMenu name={nameOf(row)} actions={[action]} />
  }
  const columns: Column<Session>[] = [
    { title: 'Name', cell: (row) => <Named name={row.name} below={holderOf(row)} /> },
    { title: 'From', cell: (row) => <Origin session={row} sessions={sessions} /> },
    { title: 'Signed in', cell: ({ createTime }) => <RelativeTime time={createTime} /> },
    { title: 'Last used', cell: ({ lastUseTime }) => <RelativeTime time={lastUseTime} /> },
    { title: 'Ends', cell: ({ expireTime }) => <RelativeTime time={expireTime} /> },
  ]
  return (
    <Card withBorder padding="sm" mb="sm">
      <DataTable rows={sessions} columns={[...columns, { title: 'Actions', cell: menu }]} />
      {session !== undefined && (
        <EndSession session={session} columns={columns} onClose={() => setOpen(undefined)} />
      )}
    </Card>
  )
}

function holderOf({ personId, current }: Session): string {
  const type = personId === undefined ? 'API key' : 'person'
  return current ? `${type}, this browser` : type
}

function Origin({ session, sessions }: { session: Session; sessions: readonly Session[] }) {
  const { kind, client = 'unknown', address = '', approvedBy } = session
  const by = sessions.find(({ id }) => id === approvedBy)
  const place = by?.address ? ` at ${by.address}` : ''
  const approval = by ? `, approved in ${by.client ?? 'a browser'}${place}` : ''
  const below = `${kind === 'command_line' ? 'command line, ' : ''}${address}${approval}`
  return (
    <TwoLines below={<UserText>{below}</UserText>}>
      <UserText>{client}</UserText>
    </TwoLines>
  )
}

type EndProps = { session: Session; columns: Column<Session>[]; onClose(): void }

const EndSession = ({ session, columns, onClose }: EndProps) => (
  <ActionDialog
    title={`End the session of ${quoted(session.name)}?`}
    action="End session"
    danger
    changes={[['sessions']]}
    send={(client) => client.sessions.end(session.id)}
    onClose={onClose}
  >
    <RowFacts name="The session" row={session} columns={columns} />
    Its holder must sign in again.
  </ActionDialog>
)

const EndSessions = ({ person, onClose }: { person: Person; onClose(): void }) => (
  <ActionDialog
    title={`End all sessions of ${quoted(nameOfPerson(person))}?`}
    action="End all sessions"
    danger
    changes={[['sessions']]}
    send={(client) => client.sessions.endAll(person.id)}
    onClose={onClose}
  >
    Every browser of this person must sign in again. To keep a person out, change the access rules
    or the account at the OpenID provider.
  </ActionDialog>
)
