import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../packages/server/src/config/server-settings.ts'
import { openSqliteStore } from '../packages/server/src/kernel/storage/sqlite/store.ts'
import { openApiDocument } from './openapi/document.ts'

const unused = () => Promise.reject(new Error('not used here'))

const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
const store = await openSqliteStore({ file: join(folder, 'pubring.db') })
try {
  const document = await openApiDocument({
    store,
    clock: { now: Date.now, monotonic: () => performance.now() },
    config: loadConfig({}, {}),
    intakeFor: () => ({
      examine: unused,
      bulk: { examineAll: unused, findSharedPrimes: unused },
    }),
    fetch: unused,
  })
  mkdirSync(new URL('../docs/', import.meta.url), { recursive: true })
  writeFileSync(new URL('../docs/openapi.json', import.meta.url), document)
} finally {
  await store.close()
  rmSync(folder, { recursive: true })
}
