import type { LinkCreator } from '../../kernel/ledger/chain.ts'
import { projectLedger, subject } from '../../kernel/ledger/subject.ts'
import type { Contradictable } from '../../kernel/records.ts'
import { type RowOf, rowMapping, table } from '../../kernel/storage/schema.ts'
import { isExpired } from '../../kernel/values/times.ts'
import type { RegistrationLink } from './contract.ts'

/** A stored link: the digests of its secret and of that of its session, never a secret. */
export interface LinkRecord extends Omit<RegistrationLink, 'state' | 'keys'>, Contradictable {
  projectId: string
  /** SHA-256 over the secret in the address, lower-case hex. */
  digest: string
  createdBy: LinkCreator
  /** SHA-256 over the secret in the cookie of the browser that opened it. */
  sessionDigest?: string
  revokeTime?: string
}

export const linkTable = table(
  'registration_link',
  {
    project_id: 'key text',
    id: 'key text',
    note: 'text',
    digest: 'unique text',
    new_keys: 'text',
    algorithms: 'nullable json',
    return_url: 'nullable text',
    created_by: 'json',
    create_time: 'text',
    expire_time: 'text',
    session_digest: 'nullable text',
    revoke_time: 'nullable text',
  },
  { note: 'it may name people, so no event has it; it is only shown' },
)

declare module '../../kernel/storage/schema.ts' {
  interface Tables {
    registration_link: RowOf<typeof linkTable>
  }
}

export const { fromRow, toRow } = rowMapping<typeof linkTable, LinkRecord>(linkTable, {
  algorithms: [],
  createdBy: {},
})

export const links = subject({
  name: 'registration_link',
  table: linkTable,
  ledger: projectLedger('registration_link.project_id', ({ projectId }: LinkRecord) => projectId),
  events: ['created', 'opened', 'token_checked', 'revoked'],
  fromRow,
  members: ({ newKeys, algorithms, expireTime }) => ({
    newKeys,
    algorithms: algorithms?.join(' '),
    expireTime,
  }),
})

/** Whether the link, or the session of the browser that opened it, can still be used. */
export function isLive(link: LinkRecord, time: string): boolean {
  return !link.contradicted && link.revokeTime === undefined && !isExpired(link, time)
}
