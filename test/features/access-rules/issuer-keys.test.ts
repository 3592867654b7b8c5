import { generateKeyPairSync } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  createIssuerKeys,
  type IssuerKeys,
} from '../../../packages/server/src/features/access-rules/issuer-keys.ts'
import type { Context } from '../../../packages/server/src/kernel/context.ts'
import { startApp } from '../../support/app/app.ts'
import { stoppedClock, type TestClock } from '../../support/app/clock.ts'
import { ecKey, edKey, rsaKey } from '../../support/keys/pem.ts'
import { issuerHost, jwkOf, startIssuer } from '../../support/network/issuer.ts'

let clock: TestClock
let keys: IssuerKeys

const issuer = await startIssuer()
const app = await startApp()

beforeEach(() => {
  issuer.rotate()
  issuer.headers = {}
  issuer.pages.clear()
  issuer.discovery = { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` }
  issuer.server.requests.length = 0
  clock = stoppedClock()
  keys = createIssuerKeys(context())
})

function context(options = {}): Context {
  return { ...app.context, clock, fetch: issuer.server.fetchWith(options) }
}

const find = (kid = issuer.kid, alg = 'ES256', source = {}) =>
  keys.find({ issuer: issuer.url, keySource: 'discovery', ...source }, kid, alg)
const found = { key: expect.objectContaining({ algorithms: expect.anything() }) }
const fault = (pattern: RegExp) => ({ fault: expect.stringMatching(pattern) })
const unread = (message: RegExp) => ({ ...fault(message), isUnreachable: true })
const fetches = () => issuer.server.requests.filter((path) => path.endsWith('/jwks')).length
const minute = 60_000

test('keys come from the discovery document, a JWKS address or the rule', async () => {
  expect(await find()).toEqual(found)
  const jwksUri = `${issuer.url}/jwks`
  expect(await find(issuer.kid, 'ES256', { keySource: 'jwksUri', jwksUri })).toEqual(found)
  const before = issuer.server.requests.length
  expect(await find(issuer.kid, 'ES256', { keySource: 'jwks', jwks: issuer.jwks })).toEqual(found)
  expect(issuer.server.requests).toHaveLength(before)
})

test('many who need the same keys at once share one fetch', async () => {
  await Promise.all(Array.from({ length: 20 }, () => find()))
  expect(issuer.server.requests).toHaveLength(2)
})

test.each([
  ['without headers', {}, 5 * minute],
  ['by max-age', { 'cache-control': 'public, max-age=600' }, 10 * minute],
  ['less the age', { 'cache-control': 'max-age=600', age: '300' }, 5 * minute],
  ['for a minute at least', { 'cache-control': 'no-store' }, minute],
  ['for a minute at least', { 'cache-control': 'max-age=1' }, minute],
  ['for an hour at most', { 'cache-control': 'max-age=86400' }, 60 * minute],
])('keys are fresh %s', async (_name, headers, freshMs) => {
  issuer.headers = { ...headers }
  await find()
  clock.advance(freshMs - 1_000)
  await find()
  expect(fetches()).toBe(1)
  clock.advance(1_000)
  await find()
  expect(fetches()).toBe(2)
})

test('an unknown kid fetches again, at most every 30 s: only the new key is then used', async () => {
  const old = issuer.kid
  await find()
  issuer.rotate()
  for (let index = 0; index < 20; index += 1) {
    expect(await find()).toEqual(fault(/has no key with this kid/))
  }
  expect(fetches()).toBe(1)
  clock.advance(30_000)
  expect(await find()).toEqual(found)
  expect(await find(old)).toEqual(fault(/has no key with this kid/))
  expect(fetches()).toBe(2)
})

test('the last keys are used for another hour while the issuer fails, and no longer', async () => {
  await find()
  issuer.pages.set('/jwks', (_request, response) => response.writeHead(503).end())
  clock.advance(64 * minute)
  expect(await find()).toEqual(found)
  expect(await find('new')).toEqual(fault(/responded with the status 503/))
  clock.advance(minute)
  expect(await find()).toEqual(unread(/could not be fetched.*responded with the status 503/))
  issuer.pages.clear()
  clock.advance(30_000)
  expect(await find()).toEqual(found)
})

test('the same kid at two issuers names two keys', async () => {
  const other = issuer.server.urlOf('other.test')
  const otherKey = ecKey().privateKey
  issuer.pages.set('/other', (_request, response) => {
    response.end(JSON.stringify({ keys: [jwkOf(otherKey, { kid: issuer.kid })] }))
  })
  keys = createIssuerKeys(context({ allow: [issuerHost, 'other.test'] }))
  const jwksUri = `${other}/other`
  const one = await find()
  const two = await find(issuer.kid, 'ES256', { issuer: other, keySource: 'jwksUri', jwksUri })
  const point = (lookup: typeof one) =>
    'key' in lookup && lookup.key.publicKey.export({ format: 'jwk' }).x
  expect(point(one)).toBe(issuer.jwks.keys.map((key) => Object(key).x)[0])
  expect(point(two)).toBe(otherKey.export({ format: 'jwk' }).x)
})

test('all keys of an issuer are examined for one caller, those of another issuer for another', async () => {
  const callers: string[] = []
  keys = createIssuerKeys({
    ...context(),
    intakeFor(caller) {
      const intake = app.context.intakeFor(caller)
      const examine: typeof intake.examine = (...key) => {
        callers.push(caller.callerId)
        return intake.examine(...key)
      }
      return { ...intake, examine }
    },
  })
  const jwks = { keys: ['a', 'b', 'c'].map((kid) => jwkOf(ecKey().privateKey, { kid })) }
  for (const name of [issuer.url, 'https://other.test']) {
    await find('a', 'ES256', { issuer: name, keySource: 'jwks', jwks })
  }
  const [one, , , other] = callers
  expect(callers).toEqual([one, one, one, other, other, other])
  expect(other).not.toBe(one)
})

describe('a discovery document', () => {
  test.each([
    ['with a final slash', { issuer: 'ISSUER/' }],
    ['without an issuer', {}],
    ['that is a list', []],
  ])('%s is refused', async (_name, document) => {
    const text = JSON.stringify(document).replace('ISSUER', issuer.url)
    issuer.pages.set('/.well-known/openid-configuration', (_request, response) =>
      response.end(text),
    )
    expect(await find()).toEqual(unread(/with every character the same/))
    expect(fetches()).toBe(0)
  })

  test('is found below a path, and at an issuer with a final slash', async () => {
    for (const suffix of ['/tenant', '/tenant/']) {
      const name = `${issuer.url}${suffix}`
      const document = JSON.stringify({ issuer: name, jwks_uri: `${issuer.url}/jwks` })
      issuer.pages.set('/tenant/.well-known/openid-configuration', (_request, response) => {
        response.end(document)
      })
      expect(await find(issuer.kid, 'ES256', { issuer: name })).toEqual(found)
    }
  })

  test.each([
    ['nowhere', undefined, /has no jwks_uri/],
    ['to plain http', 'http://issuer.test/jwks', /must begin with https/],
    ['to a private address', 'https://169.254.169.254/jwks', /is not public/],
  ])('that leads %s is an error', async (_name, jwks_uri, message) => {
    issuer.discovery = { issuer: issuer.url, jwks_uri }
    expect(await find()).toEqual(unread(message))
  })
})

describe('a JWKS', () => {
  test.each(['[]', '{"keys":{}}'])('that is %s is an error', async (body) => {
    issuer.pages.set('/jwks', (_request, response) => response.end(body))
    expect(await find()).toEqual(unread(/does not serve a JWKS/))
  })

  test('of 10 MB is an error', async () => {
    const body = 'x'.repeat(10 * 1024 * 1024)
    issuer.pages.set('/jwks', (_request, response) => response.end(body))
    expect(await find()).toEqual(unread(/more than 256 KiB/))
  })

  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey
  test.each<[string, () => object, RegExp]>([
    ['a short RSA key', () => jwkOf(weak, {}), /1024/],
    ['a private key', () => ecKey().privateKey.export({ format: 'jwk' }), /its private key/],
    ['a secret', () => ({ kty: 'oct', k: 'c2VjcmV0' }), /not a public key that Pubring knows/],
    ['a key for encryption', () => jwkOf(ecKey().privateKey, { use: 'enc' }), /use is not sig/],
    ['an alg that does not fit', () => jwkOf(ecKey().privateKey, { alg: 'RS256' }), /one of ES256/],
  ])('leaves %s out, beside a good key', async (_name, jwk, message) => {
    issuer.jwks.keys.unshift(
      { ...jwk(), kid: 'bad' },
      Object(null),
      { kid: 7 },
      { kid: { toString: 1 } },
    )
    expect(await find()).toEqual(found)
    expect(await find('bad')).toEqual(fault(message))
    expect(await find('bad', 'HS256')).toEqual(fault(message))
    expect(fetches()).toBe(1)
  })

  test.each<[string, () => object]>([
    ['fetched', () => ({})],
    ['in the rule', () => ({ keySource: 'jwks', jwks: { ...issuer.jwks } })],
  ])('%s loses a key whose private half is submitted later, at once', async (_name, source) => {
    const members = source()
    expect(await find(issuer.kid, 'ES256', members)).toEqual(found)
    const pem = issuer.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const body = { name: 'n', algorithm: 'ES256', publicKeyPem: pem }
    await app.send('POST', '/v1/projects/payments/jwt-keys', { body })
    expect(await find(issuer.kid, 'ES256', members)).toEqual(fault(/Its private key was submitted/))
  })

  test('with a key that is nested too deep leaves it out', async () => {
    const deep = `${'['.repeat(8_000)}{"0": 1}${']'.repeat(8_000)}`
    const good = JSON.stringify(issuer.jwks.keys)
    const text = `{"keys": [{"kid": "a", "x": ${deep}}, ${good.slice(1)}}`
    issuer.pages.set('/jwks', (_request, response) => response.end(text))
    expect(await find()).toEqual(found)
    expect(await find('a')).toEqual(fault(/has no key with this kid/))
  })

  test('of every algorithm is used with it alone', async () => {
    const rsa = rsaKey().privateKey
    issuer.jwks.keys.push(jwkOf(rsa, { kid: 'any' }), jwkOf(rsa, { kid: 'ps', alg: 'PS256' }))
    issuer.jwks.keys.push(jwkOf(edKey().privateKey, { kid: 'ed' }))
    for (const alg of ['RS256', 'PS512']) expect(await find('any', alg)).toEqual(found)
    for (const alg of ['none', 'HS256', 'ES256', 'RSA', 'rs256']) {
      expect(await find('any', alg)).toEqual(fault(/verifies RS256/))
    }
    expect(await find('ps', 'PS256')).toEqual(found)
    expect(await find('ps', 'RS256')).toEqual(fault(/verifies PS256 only/))
    expect(await find('ed', 'EdDSA')).toEqual(found)
  })
})
