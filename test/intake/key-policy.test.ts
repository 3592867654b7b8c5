import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { keyPolicyPage } from '../../scripts/generate-key-policy.ts'
import { intakeCodes } from '../../src/intake/codes/index.ts'

const page = readFileSync(new URL('../../docs/key-policy.md', import.meta.url), 'utf8')

test('docs/key-policy.md is up to date (npm run generate)', () => {
  expect(page).toBe(keyPolicyPage())
})

test.each(Object.keys(intakeCodes))('the page explains %s once', (code) => {
  expect(page.split(`#### \`${code}\`\n`)).toHaveLength(2)
})
