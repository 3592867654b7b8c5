import { LRUCache } from 'lru-cache'
import type { LedgerHead, SeenLedger } from '../core/records.ts'
import { endAsSeen, type Heads, readHeads } from './heads.ts'
import type { SqliteConnection } from './sqlite.ts'

/** Ledgers whose heads are kept. */
const maxHeads = 50_000

export interface VersionedHeads extends Heads {
  /** This process has changed the database: the next look is at the file. */
  changed(): void
}

/** What is kept of a ledger that is not known. */
const unknown = Symbol('unknown')

/**
 * Heads from memory as long as the file has the same version. One look at that serves only those who
 * ask without a pause: in a whole turn of the event loop a request can arrive after a change that was
 * acknowledged elsewhere after the turn's first look.
 * https://www.sqlite.org/pragma.html#pragma_data_version
 */
export function createVersionedHeads(
  { db, version, schema }: SqliteConnection,
  ping: () => Promise<void>,
): VersionedHeads {
  const known = new LRUCache<string, LedgerHead | typeof unknown>({ max: maxHeads })
  let seenVersion = Number.NaN
  let soundSchema = Number.NaN
  let looked = false

  function look(): void {
    if (looked) return
    const present = version()
    if (present !== seenVersion) known.clear()
    seenVersion = present
    looked = true
    queueMicrotask(forget)
  }
  function forget(): void {
    looked = false
  }
  /** What is kept of a database is worth nothing where its tables are gone. */
  async function read(ledgerIds: readonly string[]): Promise<Map<string, LedgerHead>> {
    const present = schema()
    if (present !== soundSchema) await ping()
    soundSchema = present
    const began = seenVersion
    const heads = await readHeads(db, ledgerIds)
    // What was read may be newer than that version, and then is read once more: never older.
    if (began === seenVersion) {
      for (const id of ledgerIds) known.set(id, heads.get(id) ?? unknown)
    }
    return heads
  }

  return {
    async heads(ledgerIds) {
      look()
      const heads = new Map<string, LedgerHead>()
      const missing: string[] = []
      for (const id of ledgerIds) {
        const head = known.get(id)
        if (head === undefined) missing.push(id)
        else if (head !== unknown) heads.set(id, head)
      }
      if (missing.length > 0) {
        for (const [id, head] of await read(missing)) heads.set(id, head)
      }
      return heads
    },
    areUnchanged(seen) {
      look()
      for (const { ledgerId, hash } of seen) {
        const head = known.get(ledgerId)
        if (head === undefined) return isUnchanged(seen)
        if (head === unknown || head.hash !== hash) return false
      }
      return true
    },
    changed: forget,
  }

  async function isUnchanged(seen: readonly SeenLedger[]): Promise<boolean> {
    return endAsSeen(seen, await read(seen.map(({ ledgerId }) => ledgerId)))
  }
}
