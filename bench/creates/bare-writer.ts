/**
 * The least that storing keys durably can cost on SQLite: a bare loop on node:sqlite that repeats, in
 * groups, the statements that the storage layer executes to create the same keys. It records them by
 * patching node:sqlite, and therefore runs in a process of its own.
 */

import process from 'node:process'
import { DatabaseSync, type SQLInputValue, StatementSync } from 'node:sqlite'
import { type KeyCreation, keyChanges } from '../../packages/server/src/features/keys/changes.ts'
import {
  type ProjectCreation,
  projectChanges,
} from '../../packages/server/src/features/projects/changes.ts'
import { features } from '../../packages/server/src/features.ts'
import type { ChangeKind } from '../../packages/server/src/kernel/changes.ts'
import { loadAppliers } from '../../packages/server/src/kernel/feature.ts'
import { ownMigrations } from '../../packages/server/src/kernel/storage/migrations/index.ts'
import {
  release,
  type SqliteConnection,
  savepoint,
} from '../../packages/server/src/kernel/storage/sqlite/connection.ts'
import { openMigrated } from '../../packages/server/src/kernel/storage/sqlite/opening.ts'
import { systemClock } from '../../packages/server/src/runtime/clock.ts'

interface Statement {
  text: string
  parameters: SQLInputValue[]
}

export interface BareTask {
  /** Files of the database written by the storage layer and of the one written by the loop. */
  recorded: string
  repeated: string
  /** Written first, and not measured. */
  projects: ProjectCreation[]
  keys: KeyCreation[]
  group: number
}

export type BareMessage = { perSecond: number } | { failed: string }

const unpatched = Object.getOwnPropertyDescriptors(StatementSync.prototype)

/** Adds every statement executed from now on to the list. */
function startRecording(list: Statement[]): void {
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

function stopRecording(): void {
  Object.defineProperties(StatementSync.prototype, unpatched)
}

/** The statements of the storage layer for each change, its savepoint included. */
async function record<Change extends object>(
  { db, run }: SqliteConnection,
  kind: ChangeKind<Change, unknown>,
  changes: Change[],
): Promise<Statement[][]> {
  const appliers = await loadAppliers(features)
  const recorded: Statement[] = []
  const statements: Statement[][] = []
  startRecording(recorded)
  for (const change of changes) {
    run(savepoint)
    await appliers.apply({ db, clock: systemClock }, kind, change)
    run(release)
    statements.push(recorded.splice(0))
  }
  stopRecording()
  return statements
}

/** Writes the changes in groups, each durable before the next; returns changes per second. */
function repeat(database: DatabaseSync, changes: Statement[][], group: number): number {
  const texts = new Set(changes.flat().map(({ text }) => text))
  const prepared = new Map([...texts].map((text) => [text, database.prepare(text)]))
  const returning = new Set(
    [...texts].filter((text) => (prepared.get(text)?.columns().length ?? 0) > 0),
  )
  const start = performance.now()
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
  return (changes.length * 1_000) / (performance.now() - start)
}

async function measure({ recorded, repeated, projects, keys, group }: BareTask): Promise<number> {
  const model = await openMigrated({ file: recorded }, ownMigrations)
  ;(await openMigrated({ file: repeated }, ownMigrations)).close()
  const database = new DatabaseSync(repeated)
  database.exec('PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000')
  database.exec('PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF')
  const before = await record(model, projectChanges.createProject, projects)
  const creates = await record(model, keyChanges.createKey, keys)
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
