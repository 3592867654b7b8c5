import { hash } from 'node:crypto'
import { canonicalJson, chainText, contentText } from '@pubring/client/internal/log/chain'
import { isNestedWithin, isObject, parseJson } from '../../runtime/json.ts'
import { present } from '../../runtime/present.ts'

/** The ledger of API keys and of projects created, renamed and deleted: the nil UUID (RFC 9562). */
export const systemLedgerId = '00000000-0000-0000-0000-000000000000'

/** The ledger of token exchanges under access rules for all projects, and of API keys of sessions. */
export const exchangeLedgerId = '00000000-0000-0000-0000-000000000001'

/** Who made a change. Without another member than the name it is Pubring or a command on the server. */
export interface Actor {
  /**
   * Name of the API key, access rule or command. That of a person, and the note of a registration link, are
   * looked up when the event is read, and not hashed, so that the chain holds no personal data.
   */
  name: string
  apiKeyId?: string
  /** A person, as the OpenID provider identifies them. */
  user?: { issuer: string; subject: string; sessionId: string }
  /** The workload that exchanged a token for the API key. */
  workload?: { ruleId: string; issuer: string; subject: string }
  /** A JWT key that proved itself. */
  jwtKeyId?: string
  /** The holder of a registration link, whose note is the name and is not hashed either. */
  link?: { id: string; createdBy: LinkCreator }
}

/**
 * Who makes the changes of an actor: a person, a rule, a key or a link; another session or exchanged API key gains
 * them nothing. Undefined for Pubring itself.
 */
export function changerOf({ user, workload, apiKeyId, jwtKeyId, link }: Actor): string | undefined {
  if (user !== undefined) return JSON.stringify([user.issuer, user.subject])
  return workload?.ruleId ?? apiKeyId ?? jwtKeyId ?? link?.id
}

/** Who created a registration link. */
export type LinkCreator = Pick<Actor, 'apiKeyId' | 'user' | 'workload'>

type EventValue = string | number | boolean

/** Old (`from`) and new (`to`) value of each changed member; absent if there is none. */
export type EventChanges = Record<string, { from?: EventValue; to?: EventValue }>

export interface EventContent {
  /** A project's id, or `systemLedgerId`. */
  ledgerId: string
  /** Number of the event in its ledger: the revision of the project after the change. */
  revision: number
  /** The name of its kind of subject, or of another one that it concerns, and what happened. */
  type: string
  time: string
  actor: Actor
  subject: { type: string; id: string }
  changes?: EventChanges
  /** Each event of a project has what it publishes once its change is made, unless the one before was altered. */
  published?: PublishedDigests
  requestId: string
}

/** SHA-256 digests, in base64url: of the list of published keys, and of the bytes of both key sets. */
export interface PublishedDigests {
  list: string
  jwks: string
  jwksFull: string
}

export interface LedgerEvent extends EventContent {
  hash: string
  /** Label or name of the subject after the event, as the ledger has it; not part of the hash. */
  label?: string
}

/** The members that a change adds to its origin to make an event. */
export type NewEvent = Pick<EventContent, 'type' | 'subject' | 'changes'>

/** An event about a subject of the kind that its type begins with. */
export function eventAbout(type: string, id: string, changes: EventChanges): NewEvent {
  return { type, subject: { type: type.split('.')[0] ?? '', id }, changes }
}

/** The hash of an event that follows the one with the previous hash. */
export function eventHash(previous: string, event: EventContent): string {
  const { published } = event
  return hash(
    'sha256',
    chainText({ previous, contentDigest: contentDigest(event), published }),
    'hex',
  )
}

/** Digest of the event without what it publishes, in lower-case hex. */
export function contentDigest(event: EventContent): string {
  return hash('sha256', contentText(event), 'hex')
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
    changes[member] = present({ from, to })
  }
  return changes
}

/** Whether the column holds valid `EventChanges`: two levels of objects, then values. */
export function hasValidChanges(changes: string | null): boolean {
  return changes === null || parseChanges(changes) !== undefined
}

/** The digests in the column of an event; undefined if it has none. */
export function parsePublished(text: string | null): PublishedDigests | undefined {
  const value = parseJson(text ?? '{}')
  const { list, jwks, jwksFull } = isObject(value) ? value : {}
  if (typeof list !== 'string' || typeof jwks !== 'string') return undefined
  return typeof jwksFull === 'string' ? { list, jwks, jwksFull } : undefined
}

export function parseChanges(text: string): EventChanges | undefined {
  const value = parseJson(text)
  const isValid =
    isObject(value) && isNestedWithin(value, 2) && Object.values(value).every(isObject)
  return isValid ? (value as EventChanges) : undefined
}
