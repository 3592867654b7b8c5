import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import { isWhole } from '../../../packages/server/src/kernel/ledger/verification.ts'
import { openLedgerReader, openStore } from '../../../packages/server/src/registry.ts'
import { startApp } from '../../support/app/app.ts'
import { ecKey } from '../../support/keys/pem.ts'
import {
  createBlankDatabase,
  createDatabase,
  type TestDatabase,
} from '../../support/store/database.ts'
import { upgrade } from '../../support/store/further-migrations.ts'
import { dumpSchema } from '../../support/store/sql-dump.ts'

const folder = join(import.meta.dirname, '../../fixtures/releases')
const releases = readdirSync(folder)

test('each release has kept its databases', () => {
  const changes = readFileSync(join(import.meta.dirname, '../../../CHANGELOG.md'), 'utf8')
  const released = [...changes.matchAll(/^## (\d.*)$/gm)].map(([, version]) => version)
  expect(releases.sort()).toEqual(released.sort())
})

describe.each(releases)('a database of %s', (release) => {
  const read = (file: string) => readFileSync(join(folder, release, file), 'utf8')
  const kept = Object.entries<string>(JSON.parse(read('key-sets.json')))
  let original: TestDatabase
  let database: TestDatabase
  beforeAll(async () => {
    original = await createBlankDatabase()
    const script = read(`${inject('engine')}.sql`)
    for (const statement of script.split(';\n').slice(0, -1)) await original.execute(statement)
  })
  beforeEach(async () => {
    database = await original.copy()
  })

  async function expectWhole(): Promise<void> {
    const ledgers = await openLedgerReader(database.url)
    const verdicts = await Array.fromAsync(verifyLedgers(ledgers))
    await ledgers.close()
    expect(verdicts.filter((each) => !isWhole(each))).toEqual([])
  }

  test('has a row in each table that the release had', async () => {
    const names = read(`${inject('engine')}.sql`).matchAll(/^create table "?(\w+)/gm)
    for (const [, name] of names) {
      if (name === 'kysely_migration_lock') continue
      expect(await database.query(`select * from ${name}`), name).not.toEqual([])
    }
  })

  test('is upgraded to the tables of a new one, and is whole', async () => {
    await (await openStore(database.url)).close()
    expect(await dumpSchema(database)).toEqual(await dumpSchema(await createDatabase()))
    await expectWhole()
  })

  test.each([
    ['by this release', async () => {}],
    ['by the next one, beside which this one runs', () => upgrade(database)],
  ])('upgraded %s publishes the same key sets, and takes a key', async (_name, prepare) => {
    await prepare()
    const app = await startApp({ database })
    for (const [projectId, keySet] of kept) {
      const url = `/v1/projects/${projectId}/.well-known/jwks.json`
      expect((await app.send('GET', url)).payload).toBe(keySet)
    }
    const [projectId] = kept[0] ?? []
    const keys = `/v1/projects/${projectId}/jwt-keys`
    const body = { label: 'new', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }
    expect((await app.send('POST', keys, { body })).statusCode).toBe(201)
    await expectWhole()
  })
})
