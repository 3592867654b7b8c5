import { expect, test } from 'vitest'
import { findPastedApiKey } from '../../packages/client/src/pasted-api-key.ts'
import { newApiKeySecret } from '../../packages/server/src/kernel/access/secrets.ts'

const secret = newApiKeySecret()

test.each([
  secret,
  `  ${secret}\r\n`,
  `export PUBRING_API_KEY='${secret}';`,
  `-H 'X-Api-Key: ${secret}' \\`,
  `{"apiKey":"${secret}"}`,
  `${secret} ${secret}`,
  `${secret.slice(0, 30)}\n  ${secret.slice(30)}`,
  `\ufeff\u200b${secret}\u00a0`,
])('an API key is found in a pasted text (%#)', (text) => {
  expect(findPastedApiKey(text)).toBe(secret)
})

test.each(['', 'pubring_', secret.slice(0, -1), `${secret}x`, `${secret} ${newApiKeySecret()}`])(
  'none is made up (%#)',
  (text) => {
    expect(findPastedApiKey(text)).toBeUndefined()
  },
)
