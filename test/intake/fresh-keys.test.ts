import { describe, expect, test } from 'vitest'
import {
  freshKinds,
  freshPem,
  hasOpenssl,
  opensslKinds,
  opensslPem,
} from '../support/keys/fresh-keys.ts'
import { codeOf } from '../support/keys/intake.ts'

describe('a good new key is never refused', () => {
  test.each(freshKinds)('%s by the platform', (kind) => {
    const count = kind.startsWith('RSA') ? 2 : 10
    for (let index = 0; index < count; index += 1) expect(codeOf(freshPem(kind))).toBe('ok')
  })

  test.runIf(hasOpenssl()).each(opensslKinds)('%s by openssl', (kind) => {
    expect(codeOf(opensslPem(kind))).toBe('ok')
  })
})
