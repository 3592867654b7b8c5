import { Card, Menu } from '@mantine/core'
import type { Session } from '@pubring/client'
import { ActionsMenu } from '../../components/actions-menu.tsx'
import { CurlHint } from '../../components/curl.tsx'
import { DataTable, RowName, TwoLines } from '../../components/data-table.tsx'
import { Facts } from '../../components/facts.tsx'
import { rowNames } from '../../components/ids.ts'
import { PageHeader, QueryResult } from '../../components/states.tsx'
import { OptionalTime, RelativeTime } from '../../components/times.tsx'
import { quoted, UserText, withVisibleControls } from '../../components/user-text.tsx'
import { ActionDialog } from '../../forms/action-form.tsx'
import { useOpenDialog } from '../../forms/drafts.ts'
import { useApi, useChange } from '../../session/api.ts'
import { useSession } from '../../session/context.tsx'
import { useRights } from '../../session/rights.ts'

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
      <CurlHint path="/sessions" />
    </>
  )
}

const actions = ['end', 'end-all'] as const

function SessionTable({ sessions }: { sessions: Session[] }) {
  const { mayManage } = useRights()
  const { self } = useSession()
  const mayEnd = ({ personId, apiKeyId }: Session) =>
    mayManage || (personId === self.person?.id && apiKeyId === self.apiKeyId)
  const [open, setOpen] = useOpenDialog('session', actions)
  const session = sessions.find(({ id }) => id === open?.id)
  const nameOf = rowNames(sessions, ({ name }) => withVisibleControls(name))
  const menuOf = ({ id, personId, current }: Session, name: string) => (
    <ActionsMenu name={name}>
      {current ? (
        <Menu.Label>Sign out to end this session</Menu.Label>
      ) : (
        <Menu.Item className="warning" onClick={() => setOpen({ action: 'end', id })}>
          End session
        </Menu.Item>
      )}
      {mayManage && personId !== undefined && (
        <Menu.Item className="warning" onClick={() => setOpen({ action: 'end-all', id })}>
          End all sessions of this person
        </Menu.Item>
      )}
    </ActionsMenu>
  )
  const close = () => setOpen(undefined)
  return (
    <Card withBorder padding="sm" mb="sm">
      <DataTable
        rows={sessions}
        columns={[
          { title: 'Name', cell: (row) => <Holder session={row} /> },
          { title: 'From', cell: (row) => <Origin session={row} sessions={sessions} /> },
          { title: 'Signed in', cell: ({ createTime }) => <RelativeTime time={createTime} /> },
          { title: 'Last used', cell: ({ lastUseTime }) => <RelativeTime time={lastUseTime} /> },
          { title: 'Ends', cell: ({ expireTime }) => <RelativeTime time={expireTime} /> },
          { title: 'Actions', cell: (row) => mayEnd(row) && menuOf(row, nameOf(row)) },
        ]}
      />
      {open?.action === 'end' && session !== undefined && (
        <EndSession session={session} sessions={sessions} onClose={close} />
      )}
      {open?.action === 'end-all' && session?.personId !== undefined && (
        <EndSessions ofPerson={session.personId} name={session.name} onClose={close} />
      )}
    </Card>
  )
}

function Holder({ session: { name, personId, current } }: { session: Session }) {
  const type = personId === undefined ? 'API key' : 'person'
  return (
    <TwoLines below={current ? `${type}, this browser` : type}>
      <RowName>{name}</RowName>
    </TwoLines>
  )
}

/** Where the session was begun, by which its holder knows it. */
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

function EndSession(props: { session: Session; sessions: Session[]; onClose(): void }) {
  const { session, sessions, onClose } = props
  const { id, name, createTime, lastUseTime } = session
  const change = useChange(['sessions'])
  return (
    <ActionDialog
      title={`End the session of ${quoted(name)}?`}
      action="End session"
      danger
      request={{ method: 'DELETE', path: `/sessions/${id}` }}
      run={() => change((client) => client.sessions.end(id))}
      onClose={onClose}
    >
      <Facts
        name="The session"
        facts={{
          Name: <UserText>{name}</UserText>,
          From: <Origin session={session} sessions={sessions} />,
          'Signed in': <RelativeTime time={createTime} />,
          'Last used': <OptionalTime time={lastUseTime} />,
        }}
      />
      Its holder must sign in again.
    </ActionDialog>
  )
}

/** Ends all sessions of a person. */
export function EndSessions(props: { ofPerson: string; name: string; onClose(): void }) {
  const { ofPerson, name, onClose } = props
  const change = useChange(['sessions'])
  return (
    <ActionDialog
      title={`End all sessions of ${quoted(name)}?`}
      action="End all sessions"
      danger
      request={{ method: 'DELETE', path: `/sessions?person=${ofPerson}` }}
      run={() => change((client) => client.sessions.endAll(ofPerson))}
      onClose={onClose}
    >
      Every browser of this person must sign in again. To keep a person out, change the access rules
      or the account at the OpenID provider.
    </ActionDialog>
  )
}
