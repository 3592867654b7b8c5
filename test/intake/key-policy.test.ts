import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { slowCodes } from '../../packages/intake/src/rsa/index.ts'
import { auditRules } from '../../packages/server/src/features/audit/run.ts'
import { readPublishedKeys } from '../../scripts/generate-blocklist.ts'
import { rejections } from '../../scripts/generate-key-policy.ts'

const page = readFileSync(new URL('../../docs/key-policy.md', import.meta.url), 'utf8')

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
  const rejected = Object.values(rejections)
  const rules = { revision: auditRules.split('.')[0], digest: hash('sha256', rejected.join('\n')) }
  expect(rules).toEqual({
    revision: '2',
    digest: '1d62f0fbf79b0ba35fd3de51f91f4e5f2715f4905abd296f314baf85dcd49c45',
  })
})
