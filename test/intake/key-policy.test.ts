import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { intakeCodes } from '../../packages/intake/src/codes.ts'
import { slowCodes } from '../../packages/intake/src/rsa/index.ts'
import { auditRules } from '../../packages/server/src/features/audit/run.ts'
import { readPublishedKeys } from '../../scripts/generate-blocklist.ts'

const page = readFileSync(new URL('../../docs/key-policy.md', import.meta.url), 'utf8')

const entry =
  /^\| `(?<code>\w+)` \| `(?<problem>\w+)` \| (?<rejected>.+\.) \| (?<why>.+\.(?: \*.+\*)?) \|$/gm
const entries = [...page.matchAll(entry)].map(({ groups }) => ({ ...groups }))

test('the page explains each code once, with its problem', () => {
  const explained = entries.map(({ code, problem }) => [code, problem])
  expect(explained).toEqual(Object.entries(intakeCodes))
})

test('the page lists the slow rules', () => {
  expect(page).toContain(`\n${slowCodes.map((code) => `\`${code}\``).join(', ')}.\n`)
})

test('the page states the number of published keys', () => {
  const count = Object.values(readPublishedKeys()).flat().length
  expect(page).toContain(`The built-in list has ${count.toLocaleString('en')} key pairs`)
})

/**
 * If an entry now rejects other keys, raise `revision` in `packages/server/src/features/audit/run.ts`, so that the audit
 * examines registered keys again. If only its words changed, update the digest alone.
 */
test('registered keys are examined again after the rules have changed', () => {
  const rejected = entries.map((each) => each.rejected)
  const rules = { revision: auditRules.split('.')[0], digest: hash('sha256', rejected.join('\n')) }
  expect(rules).toEqual({
    revision: '2',
    digest: '343bce280ca11128e8b3d31511649bb2538b45fef761459ae8f36616516a11cc',
  })
})
