import { setImmediate as endOfTurn } from 'node:timers/promises'
import type { LedgerHead, ObservedHead } from '../../core/records.ts'
import { headsMatch } from '../../core/validity.ts'
import { type LedgerHeads, readHeads } from '../heads.ts'
import type { SqliteConnection } from './connection.ts'

/** Ledgers whose heads are kept; all are let go when there are more, as with every commit. */
const maxHeads = 20_000

export interface VersionedHeads extends LedgerHeads {
  /** This process has changed the database: the next look is at the file. */
  changed(): void
}

/** What is kept of a ledger that is not known. */
const unknown = Symbol('unknown')

/**
 * LedgerHeads from memory as long as the file has the same version. One look at that, at the end of a turn
 * of the event loop, serves whoever has asked in the turn whether something is unchanged: at its
 * beginning it could miss a change that was acknowledged before the last of them arrived. For the
 * same reason heads themselves are looked at for those alone who ask without a pause.
 * https://www.sqlite.org/pragma.html#pragma_data_version
 */
export function createVersionedHeads(
  { db, version, schema }: SqliteConnection,
  ping: () => Promise<void>,
): VersionedHeads {
  const known = new Map<string, LedgerHead | typeof unknown>()
  let seenVersion = Number.NaN
  let soundSchema = Number.NaN
  let looked = false
  let lookAtEnd: Promise<void> | undefined

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
  async function lookAtEndOfTurn(): Promise<void> {
    await endOfTurn()
    lookAtEnd = undefined
    look()
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
      if (known.size + ledgerIds.length > maxHeads) known.clear()
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
    headsMatch(seen) {
      lookAtEnd ??= lookAtEndOfTurn()
      return lookAtEnd.then(() => {
        for (const { ledgerId, hash } of seen) {
          const head = known.get(ledgerId)
          if (head === undefined) return isUnchanged(seen)
          if (head === unknown || head.hash !== hash) return false
        }
        return true
      })
    },
    changed: forget,
  }

  async function isUnchanged(seen: readonly ObservedHead[]): Promise<boolean> {
    return headsMatch(seen, await read(seen.map(({ ledgerId }) => ledgerId)))
  }
}
