import { describe, expect, test } from 'vitest'
import {
  freshKinds,
  freshPem,
  hasOpenssl,
  opensslKinds,
  opensslPem,
} from '../support/keys/fresh-keys.ts'
import { codeOf } from '../support/keys/intake.ts'

const count = (kind: string) => (/3072|4096/.test(kind) ? 50 : 200)

describe('no good new key is refused, of many', () => {
  test.each(freshKinds)('%s by the platform', (kind) => {
    for (let index = 0; index < count(kind); index += 1) {
      const text = freshPem(kind)
      expect(codeOf(text), text).toBe('ok')
    }
  })

  test.runIf(hasOpenssl()).each(opensslKinds)('%s by openssl', (kind) => {
    for (let index = 0; index < count(kind); index += 1) {
      const text = opensslPem(kind)
      expect(codeOf(text), text).toBe('ok')
    }
  })
})
