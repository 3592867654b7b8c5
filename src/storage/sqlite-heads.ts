import { LRUCache } from 'lru-cache'
import type { Lookup } from '../core/revision-lookup.ts'
import { type Head, readHeads } from './cached-reads.ts'
import type { SqliteConnection } from './sqlite.ts'

/** Ledgers whose heads are kept. */
const maxHeads = 50_000

export interface VersionedHeads extends Lookup<Head> {
  /** This process has changed the database: the next look is at the file. */
  changed(): void
}

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
  const heads = new LRUCache<string, Promise<Head | undefined>>({ max: maxHeads })
  let seen = Number.NaN
  let soundSchema = Number.NaN
  let looked = false

  function look(): void {
    if (looked) return
    const present = version()
    if (present !== seen) heads.clear()
    seen = present
    looked = true
    queueMicrotask(forget)
  }
  function forget(): void {
    looked = false
  }
  /** What is kept of a database is worth nothing where its tables are gone. */
  async function read(id: string): Promise<Head | undefined> {
    const present = schema()
    if (present !== soundSchema) await ping()
    soundSchema = present
    return (await readHeads(db, [id])).get(id)
  }

  return {
    async current(id) {
      look()
      const known = heads.get(id)
      if (known !== undefined) return known
      const reading = read(id)
      heads.set(id, reading)
      reading.catch(() => {
        if (heads.peek(id) === reading) heads.delete(id)
      })
      return reading
    },
    changed: forget,
  }
}
