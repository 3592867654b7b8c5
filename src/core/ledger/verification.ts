import {
  alteration,
  type ChainPosition,
  gapBefore,
  genesisHash,
} from '../../../client/src/log/chain.ts'
import { type EventContent, eventHash, systemLedgerId } from './chain.ts'

const pageSize = 500

/** Ledgers verified at once: one is hashed while the database reads others. */
const maxConcurrent = 8

/** A stored event, which may have been altered. */
export interface LedgerEntry {
  revision: unknown
  hash: string
  /** Absent if the row is not a valid event. */
  content?: EventContent
}

/** The stored head of a ledger and the number of its events, from one snapshot. */
export interface StoredHead {
  revision: number
  hash: string
  events: number
}

/** The reads of the verification. Each sees at least what earlier ones saw. */
export interface LedgerReads {
  /** Ledgers with a head, by id; `after` is the last id of the previous page. */
  ledgerIds(page: { after: string; limit: number }): Promise<string[]>
  /** Ledgers with events but no head. */
  headlessLedgerIds(): Promise<string[]>
  ledgerHead(ledgerId: string): Promise<StoredHead | undefined>
  /** According to the heads of all ledgers. */
  countEvents(): Promise<number>
  /** Entries after a revision, in order. */
  ledgerEntries(ledgerId: string, page: { after: number; limit: number }): Promise<LedgerEntry[]>
}

/** The first revision at which a ledger differs from what was written. */
export interface LedgerBreak {
  revision: number
  detail: string
}

export interface LedgerVerdict {
  ledgerId: string
  /** Number of intact events, and the hash of the last of them. */
  events: number
  hash: string
  /** Absent if the ledger is intact. */
  broken?: LedgerBreak
}

/**
 * Verifies every ledger, including those of deleted projects: the system ledger first, then by id.
 * A ledger that has no head and no event is broken if the system ledger records its creation.
 */
export async function* verifyLedgers(reads: LedgerReads): AsyncGenerator<LedgerVerdict> {
  const missing = new Set<string>()
  yield await verifyLedger(reads, systemLedgerId, ({ type, subject }) => {
    if (type === 'project.created') missing.add(subject.id)
  })
  let after = ''
  let ids: string[]
  do {
    ids = await reads.ledgerIds({ after, limit: pageSize })
    for (const id of ids) missing.delete(id)
    yield* verifyEach(reads, ids)
    after = ids.at(-1) ?? after
  } while (ids.length === pageSize)
  const headless = await reads.headlessLedgerIds()
  yield* verifyEach(reads, [...new Set([...headless, ...missing])])
}

/** Several at once, in their order; without the system ledger. */
async function* verifyEach(
  reads: LedgerReads,
  ids: readonly string[],
): AsyncGenerator<LedgerVerdict> {
  const running: Promise<LedgerVerdict>[] = []
  for (const id of ids.filter((id) => id !== systemLedgerId)) {
    const verdict = verifyLedger(reads, id)
    // Its turn to be awaited comes later.
    verdict.catch(() => undefined)
    running.push(verdict)
    if (running.length >= maxConcurrent) yield* running.splice(0, 1)
  }
  yield* running
}

/** Whether the ledger has a head or an event. */
export async function hasLedger(reads: LedgerReads, ledgerId: string): Promise<boolean> {
  const events = await reads.ledgerEntries(ledgerId, { after: Number.MIN_SAFE_INTEGER, limit: 1 })
  return events.length > 0 || (await reads.ledgerHead(ledgerId)) !== undefined
}

/**
 * Recomputes the hash chain of a ledger from its first event and compares it with the head. Events
 * appended meanwhile are verified too.
 */
export async function verifyLedger(
  reads: LedgerReads,
  ledgerId: string,
  visit: (event: EventContent) => void = () => {},
): Promise<LedgerVerdict> {
  const verified: ChainPosition = { revision: 0, hash: genesisHash }
  const verdict = (broken?: LedgerBreak): LedgerVerdict => ({
    ledgerId,
    events: verified.revision,
    hash: verified.hash,
    ...(broken === undefined ? {} : { broken }),
  })
  let head = await reads.ledgerHead(ledgerId)
  for (;;) {
    const entries = await reads.ledgerEntries(ledgerId, {
      after: verified.revision,
      limit: pageSize,
    })
    for (const entry of entries) {
      const broken = entryBreak(verified, entry)
      if (broken !== undefined) return verdict(broken)
      verified.revision += 1
      verified.hash = entry.hash
      if (entry.content !== undefined) visit(entry.content)
    }
    if (entries.length > 0) {
      head = await reads.ledgerHead(ledgerId)
      if (head === undefined || head.revision > verified.revision) continue
    }
    return verdict(headBreak(verified, head))
  }
}

/** Why the entry is not the next link of the chain. */
function entryBreak(
  verified: ChainPosition,
  { revision, hash, content }: LedgerEntry,
): LedgerBreak | undefined {
  const next = verified.revision + 1
  const gap = gapBefore(revision, verified)
  if (gap !== undefined) return { revision: next, detail: gap }
  if (content === undefined) {
    return { revision: next, detail: `event ${next} was altered: it cannot be read` }
  }
  const detail = alteration(content, hash, eventHash(verified.hash, content))
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
  if (head.events === last) return undefined
  return broken(last, `there are ${head.events} events for ${last} revisions`)
}
