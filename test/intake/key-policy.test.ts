import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { intakeCodes } from '../../packages/intake/src/codes.ts'
import { slowCodes } from '../../packages/intake/src/rsa/index.ts'
import { auditRules } from '../../packages/server/src/features/audit/run.ts'
import { readPublishedKeys } from '../../scripts/generate-blocklist.ts'

const page = readFileSync(new URL('../../docs/key-policy.md', import.meta.url), 'utf8')

const entry =
  /^#### `(?<code>.*)`\n\n.+\. Rules? (?<rule>.+), reported as `(?<problem>\w+)`\.\n\n(?<reason>.+\n.+\n)/gm
const entries = [...page.matchAll(entry)].map(({ groups }) => ({ ...groups }))

test('the page explains each code once and nothing else', () => {
  const headings = [...page.matchAll(/^#### `(.*)`$/gm)].map(([, heading]) => heading)
  expect(entries.map(({ code }) => code)).toEqual(headings)
  expect(headings).toEqual(Object.keys(intakeCodes))
})

test.each(Object.keys(intakeCodes))('the page explains %s once', (code) => {
  expect(page.split(`#### \`${code}\`\n`)).toHaveLength(2)
})

test.each(entries)('the entry of $code is complete and names its problem', (explained) => {
  const { code = '', rule, problem, reason } = explained
  expect({ [code]: problem }).toEqual({ [code]: Reflect.get(intakeCodes, code) })
  expect(rule).toMatch(/^[TDREOA]\d+(, [TDREOA]\d+)*$/)
  expect(reason).toMatch(/^- \*\*Rejected:\*\* .+\.\n- \*\*Why:\*\* .+\.\n$/)
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
  const rejected = page.match(/^- \*\*Rejected:\*\* .*$/gm) ?? []
  const rules = { revision: auditRules.split('.')[0], digest: hash('sha256', rejected.join('\n')) }
  expect(rules).toEqual({
    revision: '2',
    digest: 'a2b52d4e19123acbcd78192ec3d5d43e1c363feebe51b3e7cab2acb7d22e7ff9',
  })
})
