import { setImmediate as endOfTurn } from 'node:timers/promises'
import type { LedgerHead, ObservedHead } from '../../records.ts'
import { headsMatch } from '../../values/validity.ts'
import type { LedgerHeads } from '../cached.ts'
import { ping } from '../reads.ts'
import type { Db, Table } from '../schema.ts'
import { statement } from '../statements.ts'
import type { SqliteConnection } from './connection.ts'

/** The cache is cleared when it is full, and with every commit. */
const maxHeads = 20_000

/** Cached in place of a head if there is no such ledger. */
const noLedger = Symbol('no ledger')

interface VersionedHeads extends LedgerHeads {
  /** Checks the file before the next use. Call it after every commit of this process. */
  invalidate(): void
}

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
): VersionedHeads {
  const cache = new Map<string, LedgerHead | typeof noLedger>()
  let cachedVersion = Number.NaN
  let checkedSchema = Number.NaN
  let isChecked = false
  let checkAtEndOfTurn: Promise<void> | undefined

  function invalidate(): void {
    isChecked = false
  }
  function checkVersion(): void {
    if (isChecked) return
    const current = version()
    if (current !== cachedVersion) cache.clear()
    cachedVersion = current
    isChecked = true
    queueMicrotask(invalidate)
  }
  async function awaitCheck(): Promise<void> {
    await endOfTurn()
    checkAtEndOfTurn = undefined
    checkVersion()
  }
  async function load(ledgerIds: readonly string[]): Promise<Map<string, LedgerHead>> {
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
      const heads = new Map<string, LedgerHead>()
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
        for (const { ledgerId, hash } of observed) {
          const head = cache.get(ledgerId)
          if (head === undefined) return loadAndMatch(observed)
          if (head === noLedger || head.hash !== hash) return false
        }
        return true
      })
    },
    invalidate,
  }
}

const headOf = statement((db, { id }: { id: string }) =>
  db.selectFrom('ledger').select(['revision', 'hash']).where('project_id', '=', id),
)

/** One statement per ledger, since SQLite has no round trips. */
async function readHeads(db: Db, ledgerIds: readonly string[]): Promise<Map<string, LedgerHead>> {
  const heads = new Map<string, LedgerHead>()
  for (const id of ledgerIds) {
    const [row] = await headOf(db, { id })
    if (row !== undefined) heads.set(id, row)
  }
  return heads
}
