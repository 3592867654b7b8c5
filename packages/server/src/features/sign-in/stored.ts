import type { Identity } from '../../kernel/access/principal.ts'
import { subject, systemLedger } from '../../kernel/ledger/subject.ts'
import type { Contradictable } from '../../kernel/records.ts'
import { type RowOf, rowMapping, table } from '../../kernel/storage/schema.ts'
import { present } from '../../runtime/present.ts'
import type { Person } from './contract.ts'

/** A person who has signed in, identified by issuer and subject. */
export interface PersonRecord extends Person, Contradictable {
  /** As the provider asserted them at the last sign-in. */
  claims?: Record<string, unknown>
}

/** The identity of a person, as the provider asserted it when they signed in. */
interface SessionPerson extends Identity {
  id: string
  claims: Record<string, unknown>
  /** `sid` of the ID token: the session at the provider. */
  providerSessionId?: string
}

/** The origin of a sign-in, by which people tell their sessions apart. It decides nothing. */
export interface Device {
  /** The browser and its system, or the user and the host that the command line says. */
  client?: string
  /** The address of the client at the sign-in. */
  address?: string
}

/** A stored session: the digest of its secret, never the secret. It has a person or an API key. */
export interface SessionRecord extends Contradictable, Device {
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

/** People who have signed in. A row grants nothing, and is deleted to erase what is known of them. */
export const personTable = table(
  'person',
  {
    id: 'key text',
    issuer: 'text',
    subject: 'text',
    name: 'nullable text',
    email: 'nullable text',
    claims: 'nullable json',
    first_sign_in_time: 'text',
    last_sign_in_time: 'text',
  },
  {
    name: 'it can be erased, so no event has it; it is only shown',
    email: 'it can be erased, so no event has it; it is only shown',
    claims: 'they can be erased, so no event has them; they give no role',
    last_sign_in_time: 'it is only shown; each sign-in is an event of its session',
  },
)

/** Sessions of people, and of API keys that signed in. */
export const sessionTable = table(
  'session',
  {
    id: 'key text',
    /** SHA-256 of the secret in the cookie. */
    digest: 'unique text',
    /** Who the person is, also in the next column. */
    issuer: 'nullable text',
    subject: 'nullable text',
    /** Id, issuer, subject, claims, and the session at the provider. */
    person: 'nullable json',
    api_key_id: 'nullable text',
    sign_in_time: 'nullable text',
    first_id: 'nullable text',
    approved_by: 'nullable text',
    client: 'nullable text',
    address: 'nullable text',
    create_time: 'text',
    expire_time: 'text',
    last_use_time: 'text',
  },
  {
    client: 'it can be erased, so no event has it; it is only shown',
    address: 'it can be erased, so no event has it; it is only shown',
    last_use_time: 'a use has no event; the end of an unused session has one',
  },
)

declare module '../../kernel/storage/schema.ts' {
  interface Tables {
    person: RowOf<typeof personTable>
    session: RowOf<typeof sessionTable>
  }
}

const { fromRow: personFromRow, toRow } = rowMapping<typeof personTable, PersonRecord>(
  personTable,
  { claims: {} },
)

export { toRow as personToRow }

export const people = subject({
  name: 'person',
  table: personTable,
  ledger: systemLedger,
  events: ['created', 'deleted'],
  fromRow: personFromRow,
  members: ({ issuer, subject }) => ({ issuer, subject }),
})

/** Stands for a person that was altered; the session then contradicts the ledger too. */
const damagedPerson: SessionPerson = { id: '', issuer: '', subject: '', claims: {} }

const mapping = rowMapping<typeof sessionTable, SessionRecord & Partial<Identity>>(sessionTable, {
  person: damagedPerson,
})

type SessionRow = RowOf<typeof sessionTable>

/** The identity of the person is also in columns of its own, for queries. */
function sessionFromRow(row: SessionRow): SessionRecord {
  const { issuer, subject, ...session } = mapping.fromRow(row)
  const { person } = session
  return person?.issuer === issuer && person?.subject === subject
    ? session
    : { ...session, person: damagedPerson }
}

export function sessionToRow(session: SessionRecord): SessionRow {
  const { issuer, subject } = session.person ?? {}
  return mapping.toRow({ ...session, ...present({ issuer, subject }) })
}

/** Whether both are the same person: the ids of people are not compared. */
export function isSamePerson(one: Identity | undefined, other: Identity | undefined): boolean {
  return one !== undefined && one.issuer === other?.issuer && one.subject === other.subject
}

export const sessions = subject({
  name: 'session',
  table: sessionTable,
  ledger: systemLedger,
  events: ['created', 'ended'],
  fromRow: sessionFromRow,
  members: ({ person, apiKeyId, signInTime, approvedBy, expireTime }) => ({
    personId: person?.id,
    apiKeyId,
    signInTime,
    approvedBy,
    expireTime,
  }),
})

/** The name of a person; after they were erased, their subject. */
export function nameOf(person: PersonRecord | undefined, subject: string): string {
  return person?.name ?? person?.email ?? subject
}
