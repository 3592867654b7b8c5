import {
  alteration,
  type ChainPosition,
  gapBefore,
  genesisHash,
} from '@pubring/client/internal/log/chain'
import { present } from '../../runtime/present.ts'
import { type EventContent, eventHash, type Members, systemLedgerId } from './chain.ts'
import { type AccountedRow, type AnySubject, applyEffect } from './subject.ts'

export const pageSize = 500

/** A stored event, which may have been altered. */
export interface LedgerEntry {
  revision: unknown
  hash: string
  /** Absent if the row is not a valid event. */
  content?: EventContent
  /** A column that only finds events differs from what the hash covers. */
  isInconsistent?: boolean
}

/** The stored head of a ledger and the number of its events, from one snapshot. */
export interface StoredHead {
  revision: number
  hash: string
  events: number
  /** The head at which an operator last accepted the ledger as it was, broken or not. */
  accepted?: ChainPosition
}

/** The reads of the verification. Each sees at least what earlier ones saw. */
export interface LedgerReads {
  /** The kinds of rows that ledgers account for. */
  subjects: readonly AnySubject[]
  /** Ledgers with a head, by id; `after` is the last id of the previous page. */
  ledgerIds(page: { after: string; limit: number }): Promise<string[]>
  /** Ledgers with events or rows, but no head. */
  headlessLedgerIds(): Promise<string[]>
  ledgerHead(ledgerId: string): Promise<StoredHead | undefined>
  /** According to the heads of all ledgers. */
  countEvents(): Promise<number>
  /** Entries after a revision, in order. */
  ledgerEntries(ledgerId: string, page: { after: number; limit: number }): Promise<LedgerEntry[]>
  /** Verifies the tables that features compare themselves. */
  verifyTables(): Promise<LedgerVerdict[]>
  /** Its rows. Kinds that many ledgers share: only the rows that the events name. */
  ledgerRows(ledgerId: string, idsOf: SubjectIds): Promise<LedgerRows>
}

/** Stands for the id of a ledger in what is said of the log. */
export const logId = 'log'

/** The first revision at which a ledger differs from what was written. */
interface LedgerBreak {
  revision: number
  detail: string
}

export interface LedgerVerdict {
  /** `logId` for the tables of the log. */
  ledgerId: string
  differences: Difference[]
  /** Number of intact events, and the hash of the last of them. */
  events: number
  hash: string
  /** Absent if the chain is intact. */
  broken?: LedgerBreak
  /** Number of first events that are not verified, because the ledger was accepted after them. */
  accepted?: number
}

/** Whether the chain and the tables are as they were written. */
export function isWhole({ broken, differences }: LedgerVerdict): boolean {
  return broken === undefined && differences.length === 0
}

/** Whether the ledger has a head or an event. */
export async function hasLedger(reads: LedgerReads, ledgerId: string): Promise<boolean> {
  const events = await reads.ledgerEntries(ledgerId, { after: Number.MIN_SAFE_INTEGER, limit: 1 })
  return events.length > 0 || (await reads.ledgerHead(ledgerId)) !== undefined
}

/**
 * Recomputes the hash chain of a ledger from its first event, or from where it was last accepted,
 * compares it with the head, and what its intact events say with the tables. Events appended meanwhile
 * are verified too.
 */
export async function verifyLedger(
  reads: LedgerReads,
  ledgerId: string,
  visit: (event: EventContent) => void = () => {},
): Promise<LedgerVerdict> {
  let head = await reads.ledgerHead(ledgerId)
  const accepted = head?.accepted
  const verified: ChainPosition = { ...(accepted ?? { revision: 0, hash: genesisHash }) }
  const replay = createReplay(ledgerId, reads.subjects)
  const readRows = () => reads.ledgerRows(ledgerId, replay.idsOf)
  const verdict = (rows: LedgerRows, broken?: LedgerBreak): LedgerVerdict => ({
    ledgerId,
    events: verified.revision,
    hash: verified.hash,
    differences: replay.compare(rows),
    ...present({ accepted: accepted?.revision, broken }),
  })
  for (;;) {
    const entries = await reads.ledgerEntries(ledgerId, {
      after: verified.revision,
      limit: pageSize,
    })
    for (const entry of entries) {
      const broken = entryBreak(verified, entry)
      if (broken !== undefined) return verdict(await readRows(), broken)
      verified.revision += 1
      verified.hash = entry.hash
      if (entry.content === undefined) continue
      replay.apply(entry.content)
      visit(entry.content)
    }
    if (entries.length === pageSize) continue
    // Every change moves the head: if it is the same afterwards, the rows are of this revision.
    const rows = await readRows()
    const before = head
    head = await reads.ledgerHead(ledgerId)
    const hasGrown = head !== undefined && head.revision > verified.revision
    if (hasGrown && head?.revision !== before?.revision) continue
    return verdict(rows, headBreak(verified, head))
  }
}

/** Why the entry is not the next link of the chain. */
export function entryBreak(
  verified: ChainPosition,
  { revision, hash, content, isInconsistent }: LedgerEntry,
): LedgerBreak | undefined {
  const next = verified.revision + 1
  const gap = gapBefore(revision, verified)
  if (gap !== undefined) return { revision: next, detail: gap }
  if (content === undefined) {
    return { revision: next, detail: `event ${next} was altered: it cannot be read` }
  }
  const expected = isInconsistent ? '' : eventHash(verified.hash, content)
  const detail = alteration(content, hash, expected)
  return detail === undefined ? undefined : { revision: next, detail }
}

/** Why the head is not the end of the chain. */
function headBreak({ revision: last, hash }: ChainPosition, head: StoredHead | undefined) {
  const broken = (revision: number, detail: string): LedgerBreak => ({ revision, detail })
  if (head === undefined) {
    return broken(last, `the ${last === 0 ? 'whole ledger' : 'head of the ledger'} is missing`)
  }
  if (head.revision > last) {
    const missing = head.revision === last + 1 ? `event ${last + 1} is` : 'the last events are'
    const detail = `${missing} missing: the head says ${head.revision}, the last event is ${last}`
    return broken(last + 1, detail)
  }
  if (head.revision < last) {
    const detail = `the head was altered: it says revision ${head.revision}, the last event is ${last}`
    return broken(head.revision, detail)
  }
  if (head.hash !== hash) {
    const detail = `the head was altered: its hash is ${head.hash}, that of the last event ${hash}`
    return broken(last, detail)
  }
  if (head.events === last || head.accepted !== undefined) return undefined
  return broken(last, `there are ${head.events} events for ${last} revisions`)
}

/** The rows that a ledger accounts for, by the name of their kind. */
type LedgerRows = ReadonlyMap<string, readonly AccountedRow[]>

/** A contradiction between a ledger and the tables. */
export interface Difference {
  ledgerId: string
  subject: { type: string; id: string }
  /** The member that differs; absent if the whole row is missing, or must not be there. */
  member?: string
  /** For the operator: contains the values. */
  detail: string
}

/** The state of a subject according to the verified events. */
interface SubjectState {
  /** Undefined once it was deleted. */
  members: Members | undefined
  /** The revision of its last event. */
  revision: number
}

/** The subjects of a kind that the events speak of. */
type SubjectIds = (name: string) => string[]

/**
 * Folds the events of one ledger into the state that the tables must hold, and compares them. Pure; its
 * memory grows with the subjects of the ledger, not with its events. Long because all of it shares them.
 */
function createReplay(ledgerId: string, subjects: readonly AnySubject[]) {
  const scope = ledgerId === systemLedgerId ? 'system' : 'project'
  const kinds = subjects.filter((kind) => [scope, 'both'].includes(kind.scope))
  const states = new Map(kinds.map(({ name }) => [name, new Map<string, SubjectState>()]))

  function compareKind(kind: AnySubject, rows: readonly AccountedRow[]): Difference[] {
    const { name } = kind
    const differences: Difference[] = []
    const unseen = new Map(states.get(name))
    for (const row of rows) {
      const subject = { type: name, id: row.id }
      for (const difference of compareRow(kind, row, unseen.get(row.id))) {
        differences.push({ ledgerId, subject, ...difference })
      }
      unseen.delete(row.id)
    }
    for (const [id, { members, revision }] of unseen) {
      if (members === undefined) continue
      const detail = `${name} ${id}: its row is missing; it exists since event ${revision} or earlier`
      differences.push({ ledgerId, subject: { type: name, id }, detail })
    }
    return differences
  }
  return {
    /** Applies the next event. */
    apply(event: EventContent): void {
      for (const { name, effects } of kinds) {
        for (const effect of effects(event)) {
          const before = states.get(name)?.get(effect.id)?.members ?? {}
          const isDeleted = effect.action === 'delete'
          const members = isDeleted ? undefined : applyEffect(before, effect)
          states.get(name)?.set(effect.id, { members, revision: event.revision })
        }
      }
    },
    idsOf: (name: string) => [...(states.get(name)?.keys() ?? [])],
    compare: (rows: LedgerRows): Difference[] =>
      kinds.flatMap((kind) => compareKind(kind, rows.get(kind.name) ?? [])),
  }
}

function compareRow(
  { name, mayBeUnrecorded }: AnySubject,
  { id, members, damage }: AccountedRow,
  state: SubjectState | undefined,
): Pick<Difference, 'member' | 'detail'>[] {
  const subject = `${name} ${id}`
  if (state?.members === undefined) {
    if (state === undefined && mayBeUnrecorded) return []
    const reason =
      state === undefined ? 'no event created it' : `event ${state.revision} deleted it`
    return [{ detail: `${subject}: it has a row, and ${reason}` }]
  }
  return [...compareMembers(state.members, members), ...(damage ? [damage] : [])].map(
    ({ member, detail }) => ({ member, detail: `${subject}: ${member}: ${detail}` }),
  )
}

function compareMembers(ledger: Members, table: Members) {
  const members = new Set([...Object.keys(ledger), ...Object.keys(table)])
  return (
    [...members]
      .filter((member) => member !== 'weaknesses' && ledger[member] !== table[member])
      // The digest differs with every other member.
      .filter((member, _index, all) => member !== 'state' || all.length === 1)
      .map((member) => {
        const values = `the ledger says ${text(ledger[member])}, the table ${text(table[member])}`
        const hidden =
          'a column differs of which events hold only this digest, such as a time or a secret'
        return { member, detail: member === 'state' ? hidden : values }
      })
  )
}

function text(value: Members[string]): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}
