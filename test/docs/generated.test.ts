import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { clientSettings } from '../../packages/server/src/config/client-settings.ts'
import { settings } from '../../packages/server/src/config/server-settings.ts'
import { errorTable } from '../../packages/server/src/errors.ts'
import { readVersion } from '../../packages/server/src/runtime/version.ts'
import { alertsPage } from '../../scripts/generate-alerts.ts'
import { clientTypes } from '../../scripts/generate-client-types.ts'
import { configurationPage } from '../../scripts/generate-configuration.ts'
import { errorsPage, memberCodes } from '../../scripts/generate-errors.ts'
import { keyPolicyPage, rejections } from '../../scripts/generate-key-policy.ts'
import { ledgerPage } from '../../scripts/generate-ledger-coverage.ts'
import { versionedFiles, withVersion } from '../../scripts/generate-versions.ts'

const read = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8')

test('docs/errors.md is the generated page: npm run generate', () => {
  expect(read('errors.md')).toBe(errorsPage())
})

test('docs/configuration.md is the generated page: npm run generate', () => {
  expect(read('configuration.md')).toBe(configurationPage())
})

test('docs/key-policy.md has the generated rules: npm run generate', () => {
  expect(read('key-policy.md')).toBe(keyPolicyPage(read('key-policy.md')))
})

test('docs/ledger.md has the generated table: npm run generate', () => {
  expect(read('ledger.md')).toBe(ledgerPage(read('ledger.md')))
})

test('docs/alerts.md is the generated page: npm run generate', () => {
  expect(read('alerts.md')).toBe(alertsPage())
})

test('packages/client/src/types.ts is the generated file: npm run generate', () => {
  const url = new URL('../../packages/client/src/types.ts', import.meta.url)
  expect(readFileSync(url, 'utf8')).toBe(clientTypes())
})

test.each(versionedFiles)('%s has the version of package.json: npm run generate', (file) => {
  const text = readFileSync(file, 'utf8')
  expect(text).toBe(withVersion(text, readVersion()))
  expect(withVersion(text, '1.2.3-rc.4')).toContain('1.2.3-rc.4')
})

test.each(Object.keys(errorTable))('docs/errors.md has one entry for %s', (code) => {
  expect(read('errors.md').split(`\n## ${code}\n\n**`)).toHaveLength(2)
})

const sources = globSync('packages/server/src/**/*.ts').map((file) => readFileSync(file, 'utf8'))
const fieldCodes = sources.flatMap((text) =>
  Array.from(text.matchAll(/\binvalidField\(\s*[^,]+,\s*'(\w+)'/g), ([, code = '']) => code),
)
test('docs/errors.md or docs/key-policy.md explains every specific code', () => {
  const explained = { ...memberCodes, ...errorTable, ...rejections }
  expect(new Set(fieldCodes).size).toBeGreaterThan(20)
  expect(fieldCodes.filter((code) => !(code in explained))).toEqual([])
})

test('what to do about an error has no link, which /docs/errors would not show as one', () => {
  expect(Object.values(errorTable).filter(({ advice }) => advice.includes(']('))).toEqual([])
})

test.each([...Object.values(settings), ...Object.values(clientSettings)].map(({ env }) => env))(
  'docs/configuration.md has %s once',
  (env) => {
    expect(read('configuration.md').split(`\n### \`${env}\`\n`)).toHaveLength(2)
  },
)
