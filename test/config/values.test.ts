import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/server-settings.ts'

const config = (name: string, value: string) => loadConfig({ [`PUBRING_${name}`]: value })

describe('PUBRING_ALGORITHMS', () => {
  test('is a list of JWS algorithms; all by default', () => {
    expect(config('ALGORITHMS', ' PS256, RS256,PS256').algorithms).toEqual(['RS256', 'PS256'])
    expect(loadConfig({}).algorithms).toHaveLength(14)
  })

  test.each(['', 'RSA', 'rs256', 'RS256,', 'HS256', 'none'])('%j is rejected', (text) => {
    expect(() => config('ALGORITHMS', text)).toThrow(/^PUBRING_ALGORITHMS must be names /)
  })
})

describe('PUBRING_RATE_LIMIT and PUBRING_PUBLIC_RATE_LIMIT', () => {
  test.each([
    ['600', { limit: 600, window: 60 }],
    ['600/m', { limit: 600, window: 60 }],
    [' 10/s ', { limit: 10, window: 1 }],
    ['20000 / h', { limit: 20_000, window: 3_600 }],
    ['off', undefined],
    ['OFF', undefined],
  ])('%j', (text, rate) => {
    expect(config('RATE_LIMIT', text).rateLimit).toEqual(rate)
    expect(config('PUBLIC_RATE_LIMIT', text).publicRateLimit).toEqual(rate)
  })

  test('are off by default', () => {
    expect(loadConfig({}).rateLimit).toBeUndefined()
    expect(loadConfig({}).publicRateLimit).toBeUndefined()
  })

  test.each(['0', '-1', '1.5', '10/d', '10/', '/s', '10 per minute', '', 'false', '1e3'])(
    '%j is rejected, and the error states the rule',
    (text) => {
      expect(() => config('RATE_LIMIT', text)).toThrow(/^PUBRING_RATE_LIMIT must be off or /)
    },
  )
})

describe('PUBRING_TRUST_PROXY', () => {
  test.each([
    ['true', true],
    ['False', false],
    ['10.0.0.1', ['10.0.0.1']],
    ['10.0.0.0/8, ::1,2001:DB8::/32', ['10.0.0.0/8', '::1', '2001:db8::/32']],
  ])('%j', (text, proxies) => {
    expect(config('TRUST_PROXY', text).trustProxy).toEqual(proxies)
  })

  test.each([
    '1',
    'yes',
    'true,10.0.0.1',
    '10.0.0.0/33',
    '10.0.0.0/0',
    '::/129',
    '10.0.0.0/8/8',
    'x',
    '',
  ])('%j is rejected: it would trust more or less than it says', (text) => {
    expect(() => config('TRUST_PROXY', text)).toThrow(/^PUBRING_TRUST_PROXY must be /)
  })
})

test('PUBRING_OVERLOAD_LAG is in milliseconds; 0 disables it', () => {
  expect(loadConfig({}).overloadLag).toBe(500)
  expect(config('OVERLOAD_LAG', '0').overloadLag).toBe(0)
  expect(() => config('OVERLOAD_LAG', '1s')).toThrow(/^PUBRING_OVERLOAD_LAG must be /)
})
