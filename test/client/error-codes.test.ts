import { readFileSync } from 'node:fs'
import { expect, expectTypeOf, test } from 'vitest'
import type { ClientErrorCode, PubringErrorCode } from '../../packages/client/src/index.ts'
import type { LogErrorCode } from '../../packages/client/src/log/index.ts'
import type { KeySetErrorCode } from '../../packages/client/src/verify.ts'
import type { ErrorCode } from '../../packages/server/src/errors.ts'

// A code that is missing, or is none, does not compile.
const clientErrors: Record<ClientErrorCode, true> = {
  unreachable: true,
  timeout: true,
  aborted: true,
  unexpected_response: true,
  invalid_url: true,
  invalid_api_key_text: true,
  token_unavailable: true,
  token_refused: true,
  temporarily_unavailable: true,
  server_error: true,
  invalid_path: true,
}
const keySetErrors: Record<KeySetErrorCode, true> = {
  kid_missing: true,
  kid_unknown: true,
  algorithm_mismatch: true,
  algorithm_unsupported: true,
  key_set_stale: true,
  key_set_disproved: true,
  key_set_unproven: true,
  key_set_history_changed: true,
  key_set_unavailable: true,
  invalid_address: true,
  invalid_option: true,
}
const logErrors: Record<LogErrorCode, true> = { malformed: true, untrusted: true, disproved: true }

const readme = readFileSync(new URL('../../packages/client/README.md', import.meta.url), 'utf8')
/** The codes in the first column of the tables below a heading of the README. */
const documented = (heading: string) => {
  const [, section = ''] = readme.split(`\n### ${heading}\n`)
  const [table = ''] = section.split(/\n#/)
  return [...table.matchAll(/^\| (`\w+`(?:, `\w+`)*) \|/gm)]
    .slice(1)
    .flatMap(([, codes = '']) => codes.replaceAll('`', '').split(', '))
    .sort()
}

test.each([
  ['PubringError', clientErrors],
  ['KeySetError', keySetErrors],
  ['LogError', logErrors],
])('the README lists the codes of %s', (name, errors) => {
  expect(documented(name)).toEqual(Object.keys(errors).sort())
})

test('the code of a PubringError is one of the client or of the service', () => {
  expectTypeOf<PubringErrorCode>().toEqualTypeOf<ClientErrorCode | ErrorCode>()
})
