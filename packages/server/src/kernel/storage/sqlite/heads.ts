import { setImmediate as endOfTurn } from 'node:timers/promises'
import type { HeadFollower } from '../../context.ts'
import type { CurrentHead, ObservedHead } from '../../records.ts'
import { headsMatch, isCurrent } from '../../values/validity.ts'
import type { LedgerHeads } from '../cached.ts'
import type { Db, Table } from '../schema.ts'
import { ping, statement } from '../statements.ts'
import type { SqliteConnection } from './connection.ts'

/** The cache is cleared when it is full, and with every commit. */
const maxHeads = 20_000

/** Cached in place of a head if there is no such ledger. */
const noLedger = Symbol('no ledger')

/**
 * Caches heads as long as the file has the same version. `headsMatch` checks the version at the end
 * of the event loop's turn, once for all callers in the turn: a check at its start could miss a
 * change acknowledged before the last of the callers arrived. For the same reason `heads` shares a
 * check only among callers in the same run of microtasks. (The shared promise is not a single-flight
 * of `async/`, since it is on the path of every cached response and must be dropped before the check
 * instead of after.) https://www.sqlite.org/pragma.html#pragma_data_version
 *
 * Long because all of it depends on the version that the cache was read at.
 */
export function createVersionedHeads(
  { db, version, schema }: SqliteConnection,
  tables: readonly Table[],
): LedgerHeads {
  const cache = new Map<string, CurrentHead | typeof noLedger>()
  let cachedVersion = Number.NaN
  let checkedSchema = Number.NaN
  let isChecked = false
  let checkAtEndOfTurn: Promise<void> | undefined

  function checkVersion(): void {
    if (isChecked) return
    const current = version()
    if (current !== cachedVersion) cache.clear()
    cachedVersion = current
    isChecked = true
    queueMicrotask(() => {
      isChecked = false
    })
  }
  async function awaitCheck(): Promise<void> {
    await endOfTurn()
    checkAtEndOfTurn = undefined
    checkVersion()
  }
  async function load(ledgerIds: readonly string[]): Promise<Map<string, CurrentHead>> {
    // A database that has lost its tables must not be served from caches.
    const currentSchema = schema()
    if (currentSchema !== checkedSchema) await ping(db, tables)
    checkedSchema = currentSchema
    const versionBefore = cachedVersion
    const heads = await readHeads(db, ledgerIds)
    // The heads may be newer than the version, which only causes another read.
    if (versionBefore === cachedVersion) {
      if (cache.size + ledgerIds.length > maxHeads) cache.clear()
      for (const id of ledgerIds) cache.set(id, heads.get(id) ?? noLedger)
    }
    return heads
  }
  async function loadAndMatch(observed: readonly ObservedHead[]): Promise<boolean> {
    return headsMatch(observed, await load(observed.map(({ ledgerId }) => ledgerId)))
  }

  return {
    async heads(ledgerIds) {
      checkVersion()
      const heads = new Map<string, CurrentHead>()
      const uncached: string[] = []
      for (const id of ledgerIds) {
        const head = cache.get(id)
        if (head === undefined) uncached.push(id)
        else if (head !== noLedger) heads.set(id, head)
      }
      if (uncached.length > 0) {
        for (const [id, head] of await load(uncached)) heads.set(id, head)
      }
      return heads
    },
    headsMatch(observed) {
      checkAtEndOfTurn ??= awaitCheck()
      return checkAtEndOfTurn.then(() => {
        for (const seen of observed) {
          const head = cache.get(seen.ledgerId)
          if (head === undefined) return loadAndMatch(observed)
          if (head === noLedger || !isCurrent(seen, head)) return false
        }
        return true
      })
    },
  }
}

const headOf = statement((db, { id }: { id: string }) =>
  db
    .selectFrom('ledger')
    .select(['revision', 'hash', 'eventless_time as eventlessTime'])
    .where('project_id', '=', id),
)

/** One statement per ledger, since SQLite has no round trips. */
async function readHeads(db: Db, ledgerIds: readonly string[]): Promise<Map<string, CurrentHead>> {
  const heads = new Map<string, CurrentHead>()
  for (const id of ledgerIds) {
    const [row] = await headOf(db, { id })
    if (row !== undefined) heads.set(id, row)
  }
  return heads
}

/** If more events than this were committed since the last read, all heads are read. */
const maxNewEvents = 1_000

/**
 * SQLite numbers events in the order of their commits, since none is ever deleted. `VACUUM` can number
 * them anew, and changes the version of the schema.
 */
interface RecordedEvent {
  rowid: number
  project_id: string
  hash: string
}

const columns = 'rowid, project_id, hash'
const eventsSince = `select ${columns} from event where rowid >= ? order by rowid limit ${maxNewEvents + 2}`
const lastEvent = `select ${columns} from event order by rowid desc limit 1`

/**
 * Finds the ledgers that have changed by the events that any process has committed since the last
 * read, and reads only their heads. If the file has changed otherwise (a restore, a person with SQL),
 * all heads are read.
 */
export function createHeadFollower(
  { run, version, schema }: SqliteConnection,
  { heads }: Pick<LedgerHeads, 'heads'>,
): HeadFollower {
  const followed = new Set<string>()
  /** The ledgers whose heads are read next. */
  const due = new Set<string>()
  let seen = { version: Number.NaN, schema: Number.NaN }
  let last: RecordedEvent | undefined

  const select = (text: string, parameters?: number[]) => run(text, parameters) as RecordedEvent[]

  /** Undefined if other heads may have changed as well. */
  function changedLedgers(isSameSchema: boolean): Set<string> | undefined {
    if (last === undefined || !isSameSchema) return undefined
    const [known, ...events] = select(eventsSince, [last.rowid])
    if (known?.hash !== last.hash || events.length === 0) return undefined
    if (events.length > maxNewEvents) return undefined
    last = events.at(-1)
    return new Set(events.map((event) => event.project_id))
  }
  function findChanged(): void {
    const current = { version: version(), schema: schema() }
    if (current.version === seen.version) return
    const changed = changedLedgers(current.schema === seen.schema)
    if (changed === undefined) [last] = select(lastEvent)
    for (const id of changed ?? followed) if (followed.has(id)) due.add(id)
    seen = current
  }
  return {
    follow(ledgerId) {
      followed.add(ledgerId)
      due.add(ledgerId)
    },
    unfollow(ledgerId) {
      followed.delete(ledgerId)
      due.delete(ledgerId)
    },
    async read() {
      findChanged()
      const ids = [...due]
      due.clear()
      try {
        return await heads(ids)
      } catch (error) {
        for (const id of ids) if (followed.has(id)) due.add(id)
        throw error
      }
    },
  }
}
