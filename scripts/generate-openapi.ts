import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../packages/server/src/config/server-settings.ts'
import { openStore } from '../packages/server/src/registry.ts'
import { openApiDocument } from './openapi/document.ts'

const unused = () => Promise.reject(new Error('not used here'))

const folder = mkdtempSync(join(tmpdir(), 'pubring-'))
const store = await openStore(`sqlite:${join(folder, 'pubring.db')}`)
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
