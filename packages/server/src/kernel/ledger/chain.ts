import { hash } from 'node:crypto'
import { canonicalJson, chainText } from '@pubring/client/internal/log/chain'
import { present } from '../../runtime/present.ts'

/** The ledger of API keys and of projects created, renamed and deleted: the nil UUID (RFC 9562). */
export const systemLedgerId = '00000000-0000-0000-0000-000000000000'

/** The ledger of token exchanges under access rules for all projects, and of API keys of sessions. */
export const exchangeLedgerId = '00000000-0000-0000-0000-000000000001'

export const eventTypes = [
  'project.created',
  'project.renamed',
  'project.deleted',
  'project.recorded',
  'key.created',
  'key.updated',
  'key.deleted',
  'key.recorded',
  'key.weakness_found',
  'rotation.started',
  'rotation.updated',
  'rotation.finished',
  'rotation.abandoned',
  'rotation.recorded',
  'private_key.refused',
  'api_key.created',
  'api_key.updated',
  'api_key.deleted',
  'api_key.recorded',
  'ledger.accepted',
  'log.started',
  'session.created',
  'session.ended',
  'session.recorded',
  'person.deleted',
  'access_rule.created',
  'access_rule.updated',
  'access_rule.deleted',
  'access_rule.recorded',
  'access_rule.keys_ended',
  'token.exchanged',
] as const

export type EventType = (typeof eventTypes)[number]

/** What an event is about. */
export type SubjectType =
  | 'project'
  | 'key'
  | 'rotation'
  | 'api_key'
  | 'access_rule'
  | 'session'
  | 'person'
  | 'registry'
  | 'ledger'

/** Who made a change. Without `apiKeyId`, `user` or `workload` it is Pubring or a command on the server. */
export interface Actor {
  /**
   * Name of the API key, access rule or command. That of a person is looked up when the event is
   * read, and not hashed, so that the chain holds no personal data.
   */
  name: string
  apiKeyId?: string
  /** A person, as the OpenID provider identifies them. */
  user?: { issuer: string; subject: string; sessionId: string }
  /** The workload that exchanged a token for the API key. */
  workload?: { ruleId: string; issuer: string; subject: string }
}

type EventValue = string | number | boolean

/** Old (`from`) and new (`to`) value of each changed member; absent if there is none. */
export type EventChanges = Record<string, { from?: EventValue; to?: EventValue }>

export interface EventContent {
  /** A project's id, or `systemLedgerId`. */
  ledgerId: string
  /** Number of the event in its ledger: the revision of the project after the change. */
  revision: number
  type: EventType
  time: string
  actor: Actor
  subject: { type: SubjectType; id: string }
  changes?: EventChanges
  requestId: string
}

export interface LedgerEvent extends EventContent {
  hash: string
  /** Label or name of the subject after the event, as the ledger has it; not part of the hash. */
  label?: string
}

/** The hash of an event that follows the one with the previous hash (`chainText`). */
export function eventHash(previousHash: string, event: EventContent): string {
  return hash('sha256', chainText(previousHash, event), 'hex')
}

/**
 * SHA-256, lower-case hex, over the canonical JSON of a stored record. Members that are undefined do
 * not count, so that an optional member added later leaves the digests of older records unchanged.
 */
export function stateDigest(record: object): string {
  return hash('sha256', canonicalJson(record), 'hex')
}

export type Members = Record<string, EventValue | undefined>

/** The members that differ, with both values; all members if there is no `before`. */
export function eventChanges(before: Members | undefined, after: Members): EventChanges {
  const changes: EventChanges = {}
  for (const [member, to] of Object.entries(after)) {
    const from = before?.[member]
    if (from === to) continue
    changes[member] = {
      ...present({ from, to }),
    }
  }
  return changes
}
