/**
 * The least that storing keys durably can cost on SQLite: the statements of the server's creates,
 * repeated in groups by a bare loop on node:sqlite. They are recorded while the storage layer creates
 * the same keys in another file; a process of its own, since it looks over that layer's shoulder.
 */
import process from 'node:process'
import { DatabaseSync, type SQLInputValue, StatementSync } from 'node:sqlite'
import type { Change } from '../../src/core/ledger/changes.ts'
import { applyChange } from '../../src/storage/changes/apply.ts'
import { release, type SqliteConnection, savepoint } from '../../src/storage/sqlite/connection.ts'
import { openMigrated } from '../../src/storage/sqlite/migrate.ts'

interface Statement {
  text: string
  parameters: SQLInputValue[]
}

export interface BareTask {
  /** Two databases, the same before and after. */
  recorded: string
  repeated: string
  /** What is written first, and not measured. */
  projects: Change[]
  keys: Change[]
  group: number
}

export type BareMessage = { perSecond: number } | { failed: string }

const plain = Object.getOwnPropertyDescriptors(StatementSync.prototype)

/** From now on every statement that is executed goes on the list as well. */
function listen(list: Statement[]): void {
  for (const name of ['all', 'run'] as const) {
    const execute = StatementSync.prototype[name]
    Object.defineProperty(StatementSync.prototype, name, {
      value(this: StatementSync, ...parameters: SQLInputValue[]) {
        list.push({ text: this.sourceSQL, parameters })
        return Reflect.apply(execute, this, parameters)
      },
      configurable: true,
    })
  }
}

function stopListening(): void {
  Object.defineProperties(StatementSync.prototype, plain)
}

/** What the storage layer says to SQLite for each change, its savepoint included. */
async function record({ db }: SqliteConnection, changes: Change[]): Promise<Statement[][]> {
  const heard: Statement[] = []
  const statements: Statement[][] = []
  listen(heard)
  for (const change of changes) {
    await savepoint.execute(db)
    await applyChange(db, change)
    await release.execute(db)
    statements.push(heard.splice(0))
  }
  stopListening()
  return statements
}

/** Writes the changes in groups, each durable before the next; answers how many in a second. */
function repeat(database: DatabaseSync, changes: Statement[][], group: number): number {
  const texts = new Set(changes.flat().map(({ text }) => text))
  const prepared = new Map([...texts].map((text) => [text, database.prepare(text)]))
  const returning = new Set(
    [...texts].filter((text) => (prepared.get(text)?.columns().length ?? 0) > 0),
  )
  const began = performance.now()
  for (let from = 0; from < changes.length; from += group) {
    database.exec('BEGIN IMMEDIATE')
    for (const { text, parameters } of changes.slice(from, from + group).flat()) {
      const statement = prepared.get(text)
      if (statement === undefined) continue
      if (returning.has(text)) statement.all(...parameters)
      else statement.run(...parameters)
    }
    database.exec('COMMIT')
  }
  return (changes.length * 1_000) / (performance.now() - began)
}

async function measure({ recorded, repeated, projects, keys, group }: BareTask): Promise<number> {
  const model = await openMigrated({ file: recorded })
  ;(await openMigrated({ file: repeated })).close()
  const database = new DatabaseSync(repeated)
  database.exec('PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000')
  database.exec('PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF')
  const before = await record(model, projects)
  const creates = await record(model, keys)
  model.close()
  repeat(database, before, group)
  const perSecond = repeat(database, creates, group)
  database.close()
  return perSecond
}

process.on('message', async (task: BareTask) => {
  const message: BareMessage = await measure(task).then(
    (perSecond) => ({ perSecond }),
    (error) => ({ failed: String(error) }),
  )
  process.send?.(message)
})
