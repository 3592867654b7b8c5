import { subject, systemLedger } from '../../kernel/ledger/subject.ts'
import type { Contradictable } from '../../kernel/records.ts'
import { type RowOf, rowMapping, table } from '../../kernel/storage/schema.ts'
import type { Person } from './contract.ts'

/** A person who has signed in, identified by issuer and subject. */
export type PersonRecord = Person

/** The identity of a person, as the provider asserted it when they signed in. */
interface SessionPerson {
  id: string
  issuer: string
  subject: string
  claims: Record<string, unknown>
  /** `sid` of the ID token: the session at the provider. */
  providerSessionId?: string
}

/** A stored session: the digest of its secret, never the secret. It has a person or an API key. */
export interface SessionRecord extends Contradictable {
  id: string
  /** SHA-256 over the secret, lower-case hex. */
  digest: string
  person?: SessionPerson
  apiKeyId?: string
  /** When the person proved who they are; absent if the provider does not say. */
  signInTime?: string
  /** The first of the sessions in this browser that took each other's place; absent if it is this one. */
  firstId?: string
  /** For a session of the command line: the first session in the browser that approved it. */
  approvedBy?: string
  createTime: string
  expireTime: string
  lastUseTime: string
}

/** People who have signed in. A row grants nothing, and is deleted to erase their name and email. */
export const personTable = table(
  'person',
  {
    id: 'key text',
    issuer: 'text',
    subject: 'text',
    name: 'nullable text',
    email: 'nullable text',
    first_sign_in_time: 'text',
    last_sign_in_time: 'text',
  },
  ['unique index person_identity on person (subject, issuer)'],
)

/** Sessions of people, and of API keys that signed in. */
export const sessionTable = table(
  'session',
  {
    id: 'key text',
    /** SHA-256 of the secret in the cookie. */
    digest: 'unique text',
    person_id: 'nullable text',
    /** Issuer, subject, claims, and the session at the provider. */
    person: 'nullable json',
    api_key_id: 'nullable text',
    sign_in_time: 'nullable text',
    first_id: 'nullable text',
    approved_by: 'nullable text',
    create_time: 'text',
    expire_time: 'text',
    last_use_time: 'text',
  },
  ['index session_person on session (person_id)'],
)

declare module '../../kernel/storage/schema.ts' {
  interface Tables {
    person: RowOf<typeof personTable>
    session: RowOf<typeof sessionTable>
  }
}

export const { fromRow: personFromRow, toRow: personToRow } = rowMapping<
  typeof personTable,
  PersonRecord
>(personTable, {})

/** Instead of one that was altered, which also contradicts the ledger. */
const damagedPerson: SessionPerson = { id: '', issuer: '', subject: '', claims: {} }

const mapping = rowMapping<typeof sessionTable, SessionRecord & { personId?: string }>(
  sessionTable,
  { person: damagedPerson },
)

type SessionRow = RowOf<typeof sessionTable>

/** The id of the person is also in a column of its own, for queries. */
export function sessionFromRow(row: SessionRow): SessionRecord {
  const { personId, ...session } = mapping.fromRow(row)
  const { person } = session
  return person === undefined || person.id === personId
    ? session
    : { ...session, person: damagedPerson }
}

export function sessionToRow(session: SessionRecord): SessionRow {
  return { ...mapping.toRow(session), person_id: session.person?.id ?? null }
}

export const sessions = subject({
  name: 'session',
  table: sessionTable,
  scope: 'system',
  ledger: systemLedger,
  events: ['created', 'ended', 'recorded'],
  fromRow: sessionFromRow,
  members: ({ person, apiKeyId, signInTime, approvedBy, expireTime }) => ({
    personId: person?.id,
    apiKeyId,
    signInTime,
    approvedBy,
    expireTime,
  }),
  // With the claims and the digest of the secret, which keeps the claims from being guessed.
  stored: ({ contradicted: _contradicted, lastUseTime: _lastUseTime, ...session }) => session,
})

/** The name of a person; after they were erased, their subject. */
export function nameOf(person: PersonRecord | undefined, subject: string): string {
  return person?.name ?? person?.email ?? subject
}
