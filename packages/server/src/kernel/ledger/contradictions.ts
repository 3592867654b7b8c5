import { storageUnavailable } from '../faults.ts'
import type { Db } from '../storage/schema.ts'

/** A row that its ledger contradicts, as `key ID`. */
export interface Contradiction {
  ledgerId: string
  subject: string
}

/** Called with each row that was compared with its last event. */
type NoteRow = (row: Contradiction, contradicted: boolean) => void

const notes = new WeakMap<Db, NoteRow>()

/** Has each comparison of a row that was read over this database noted. */
export function noteContradictions(db: Db, note: NoteRow): void {
  notes.set(db, note)
}

export function noteOf(db: Db): NoteRow | undefined {
  return notes.get(db)
}

export type Contradictions = ReturnType<typeof createContradictions>

/** Knows the rows that contradicted their ledgers when this process last read them. */
export function createContradictions() {
  const known = new Set<string>()
  const listeners: ((contradiction: Contradiction) => void)[] = []
  const note: NoteRow = (row, contradicted) => {
    if (!contradicted && known.size === 0) return
    const name = `${row.ledgerId} ${row.subject}`
    if (!contradicted) {
      known.delete(name)
      return
    }
    known.add(name)
    for (const listener of listeners) listener(row)
  }
  return {
    note,
    /** Calls the listener each time a contradicted row is read. It must not throw. */
    onRead: (listener: (contradiction: Contradiction) => void) => void listeners.push(listener),
    count: () => known.size,
  }
}

/**
 * Throws `storage_unavailable` for a row that contradicts its ledger: a change would make the
 * forged values part of the ledger.
 */
export function requireUncontradicted(
  noun: string,
  { contradicted }: { contradicted?: true },
): void {
  if (contradicted === undefined) return
  throw storageUnavailable(
    `The stored ${noun} contradicts the ledger, so it is not used and cannot be changed. Delete it and create another one, or ask the operator to run pubring check.`,
    60,
  )
}
