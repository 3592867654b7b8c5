/**
 * Keeps a database of the release that package.json names, for each engine, with the key sets that it
 * publishes. The tests of later releases upgrade it.
 *
 *   npm run keep-release
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { copyRegistry, openStore } from '../packages/server/src/registry.ts'
import { readVersion } from '../packages/server/src/runtime/version.ts'
import { endFile } from '../test/support/ending.ts'
import { createKeyFile } from '../test/support/log/key-file.ts'
import { createPostgres } from '../test/support/postgres/server.ts'
import { temporaryFolder } from '../test/support/server/process.ts'
import { fillRegistry } from '../test/support/store/full-registry.ts'
import { dumpRows, dumpSchema, type Queried } from '../test/support/store/sql-dump.ts'

const version = readVersion()
const root = join(import.meta.dirname, '..')
const tags = execFileSync('git', ['tag', '--list', `v${version}`], { cwd: root, encoding: 'utf8' })
if (tags !== '') throw new Error(`${version} is released: npm version NUMBER.`)
const folder = join(root, 'test/fixtures/releases', version)

const file = join(temporaryFolder().folder, 'pubring.db')
const store = await openStore(`sqlite:${file}`)
await fillRegistry(store, createKeyFile().open())
await store.close()
const postgres = await createPostgres()
await postgres.start()
await copyRegistry(`sqlite:${file}`, postgres.url(), () => {})

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
async function keep(database: Queried): Promise<void> {
  const statements = [...(await dumpSchema(database)), ...(await dumpRows(database))]
  writeFileSync(join(folder, `${database.engine}.sql`), `${statements.join(';\n')};\n`)
}
const sqlite = new DatabaseSync(file, { readOnly: true })
const query = async (text: string) => sqlite.prepare(text).all()
await keep({ engine: 'sqlite', query })
await keep({ engine: 'postgres', query: postgres.query })
const keySets = await query('select project_id, jwks from published_key_set order by project_id')
const byProject = Object.fromEntries(keySets.map((row) => [row.project_id, row.jwks]))
writeFileSync(join(folder, 'key-sets.json'), `${JSON.stringify(byProject, null, 2)}\n`)
sqlite.close()
await endFile()
