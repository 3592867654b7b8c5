import type { HeadFollower } from '../../context.ts'
import type { LedgerHeads } from '../cached.ts'
import type { SqliteConnection } from './connection.ts'

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
