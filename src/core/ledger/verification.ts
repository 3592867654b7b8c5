import { type EventContent, eventHash, genesisHash, systemLedgerId } from './chain.ts'

/** Rows that one read fetches. */
const pageSize = 500

/** An event as it stands in the database, which somebody may have edited. */
export interface LedgerEntry {
  revision: unknown
  hash: string
  /** Absent where the row is not what an event can look like. */
  content?: EventContent
}

/** What the database says a ledger has come to, and how many events it has, from one snapshot. */
export interface LedgerHead {
  revision: number
  hash: string
  events: number
}

/** All that the walk asks of a database; every method sees at least what the one before it saw. */
export interface LedgerReads {
  /** The ledgers that have a head, in order of id; `after` is the last id of the page before. */
  ledgerIds(page: { after: string; limit: number }): Promise<string[]>
  /** The ledgers that have events and no head. */
  headlessLedgerIds(): Promise<string[]>
  ledgerHead(ledgerId: string): Promise<LedgerHead | undefined>
  /** Entries after the revision, in order of revision. */
  ledgerEntries(ledgerId: string, page: { after: number; limit: number }): Promise<LedgerEntry[]>
}

/** The first place at which a ledger is not what was written to it. */
export interface LedgerBreak {
  revision: number
  detail: string
}

export interface LedgerVerdict {
  ledgerId: string
  /** Events up to which the chain is whole, and the hash that it has come to. */
  events: number
  hash: string
  /** Absent where the ledger is whole. */
  broken?: LedgerBreak
}

/** How far the chain has been found whole. */
interface Progress {
  revision: number
  hash: string
}

/**
 * Walks every ledger, those of deleted projects too: the system's first, then in order of id. A
 * ledger that the system's says was begun and that is not there at all is broken as well.
 */
export async function* verifyLedgers(reads: LedgerReads): AsyncGenerator<LedgerVerdict> {
  const gone: string[] = []
  yield await verifyLedger(reads, systemLedgerId, async ({ type, subject }) => {
    if (type === 'project.created' && !(await hasLedger(reads, subject.id))) gone.push(subject.id)
  })
  let after = ''
  let ids: string[]
  do {
    ids = await reads.ledgerIds({ after, limit: pageSize })
    for (const id of ids) if (id !== systemLedgerId) yield await verifyLedger(reads, id)
    after = ids.at(-1) ?? after
  } while (ids.length === pageSize)
  const headless = await reads.headlessLedgerIds()
  for (const id of [...headless, ...gone]) {
    if (id !== systemLedgerId) yield await verifyLedger(reads, id)
  }
}

/** Whether the database holds anything of the ledger, its head or an event. */
export async function hasLedger(reads: LedgerReads, ledgerId: string): Promise<boolean> {
  const events = await reads.ledgerEntries(ledgerId, { after: Number.MIN_SAFE_INTEGER, limit: 1 })
  return events.length > 0 || (await reads.ledgerHead(ledgerId)) !== undefined
}

/**
 * Recomputes the chain of one ledger from its first event and compares it with the ledger's head.
 * Holds while the ledger grows: what is appended meanwhile belongs to the walk.
 */
export async function verifyLedger(
  reads: LedgerReads,
  ledgerId: string,
  visit: (event: EventContent) => Promise<void> = async () => {},
): Promise<LedgerVerdict> {
  const whole: Progress = { revision: 0, hash: genesisHash }
  const verdict = (broken?: LedgerBreak): LedgerVerdict => ({
    ledgerId,
    events: whole.revision,
    hash: whole.hash,
    ...(broken === undefined ? {} : { broken }),
  })
  let head = await reads.ledgerHead(ledgerId)
  for (;;) {
    const entries = await reads.ledgerEntries(ledgerId, { after: whole.revision, limit: pageSize })
    for (const entry of entries) {
      const broken = entryBreak(whole, entry)
      if (broken !== undefined) return verdict(broken)
      whole.revision += 1
      whole.hash = entry.hash
      if (entry.content !== undefined) await visit(entry.content)
    }
    if (entries.length > 0) {
      head = await reads.ledgerHead(ledgerId)
      if (head === undefined || head.revision > whole.revision) continue
    }
    return verdict(headBreak(whole, head))
  }
}

/** What keeps the entry from being the next link of the chain. */
function entryBreak(whole: Progress, { revision, hash, content }: LedgerEntry) {
  const next = whole.revision + 1
  const broken = (detail: string): LedgerBreak => ({ revision: next, detail })
  if (revision !== next) {
    return broken(`event ${next} is missing: the one that follows has the revision ${revision}`)
  }
  if (content === undefined) return broken(`event ${next} was altered: it cannot be read`)
  const found = eventHash(whole.hash, content)
  if (found === hash) return undefined
  return broken(
    `event ${next} (${content.type}, ${content.time}) was altered or moved: its content and the event before it give the hash ${found}, its row says ${hash}`,
  )
}

/** What keeps the head from being the end of the chain. */
function headBreak(whole: Progress, head: LedgerHead | undefined): LedgerBreak | undefined {
  const last = whole.revision
  if (head === undefined) {
    const detail = last === 0 ? 'the whole ledger is missing' : 'the head of the ledger is missing'
    return { revision: last, detail }
  }
  if (head.revision > last) {
    const gone = head.revision === last + 1 ? `event ${last + 1} is` : 'the last events are'
    const detail = `${gone} missing: the head says ${head.revision}, the last event is ${last}`
    return { revision: last + 1, detail }
  }
  if (head.revision < last) {
    const detail = `the head was altered: it says revision ${head.revision}, the last event is ${last}`
    return { revision: head.revision, detail }
  }
  if (head.hash !== whole.hash) {
    const detail = `the head was altered: its hash is ${head.hash}, that of the last event ${whole.hash}`
    return { revision: last, detail }
  }
  if (head.events === last) return undefined
  return { revision: last, detail: `there are ${head.events} events for ${last} revisions` }
}
