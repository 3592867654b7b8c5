import { hash } from 'node:crypto'
import type { Origin } from './changes.ts'

/**
 * The ledger of what belongs to no project: projects coming and going, and API keys. It is kept
 * like a project's, under the nil UUID (RFC 9562 section 5.9), which no project can have.
 */
export const systemLedgerId = '00000000-0000-0000-0000-000000000000'

/** What the first event of every ledger is chained to. */
export const genesisHash = '0'.repeat(64)

const eventTypes = [
  'project.created',
  'project.renamed',
  'project.deleted',
  'key.created',
  'key.updated',
  'key.deleted',
  'key.weakness_found',
  'private_key.refused',
  'api_key.created',
  'api_key.updated',
  'api_key.deleted',
] as const
export type EventType = (typeof eventTypes)[number]

export type EventValue = string | number | boolean

/** What changed, member by member; `from` is absent where there was none, `to` where there is none. */
export type EventChanges = Record<string, { from?: EventValue; to?: EventValue }>

export interface EventContent {
  /** The project's id, or `systemLedgerId`. */
  ledgerId: string
  /** The event's number: the revision that the change gave the project. */
  revision: number
  type: EventType
  time: string
  actor: Origin['actor']
  subject: { type: 'project' | 'key' | 'api_key' | 'registry'; id: string }
  changes?: EventChanges
  requestId: string
}

export interface LedgerEvent extends EventContent {
  hash: string
}

/**
 * SHA-256, lower-case hex, over the previous event's hash, a line feed and the canonical JSON of
 * the content: whoever edits, drops or reorders an event breaks every hash after it.
 */
export function eventHash(previousHash: string, event: EventContent): string {
  const { ledgerId, revision, type, time, actor, subject, changes, requestId } = event
  const content = { ledgerId, revision, type, time, actor, subject, changes, requestId }
  return hash('sha256', `${previousHash}\n${canonicalJson(content)}`, 'hex')
}

type Recorded = Record<string, EventValue | undefined>

/** The members that differ, with both values; without a `before`, all that there are. */
export function eventChanges(before: Recorded | undefined, after: Recorded): EventChanges {
  const changes: EventChanges = {}
  for (const [member, to] of Object.entries(after)) {
    const from = before?.[member]
    if (from === to) continue
    changes[member] = {
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
    }
  }
  return changes
}

/** JSON with sorted members and no white space (RFC 8785, for strings, integers and booleans). */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(canonicalJson).join(',')}]`
  }
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`)
    return `{${members.join(',')}}`
  }
  return JSON.stringify(value)
}
