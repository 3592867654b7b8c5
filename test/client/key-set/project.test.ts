import { jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { projectKeySet } from '../../../packages/client/src/verify.ts'
import { startApp } from '../../support/app/app.ts'
import {
  keyOfEach,
  openKeySet,
  registerAndSign,
  setActive,
  verifyResult,
} from '../../support/app/key-set.ts'
import { newProject, patchKey, registerKey } from '../../support/app/keys.ts'
import { base64url, keyFor, signToken } from '../../support/keys/tokens.ts'
import { startHttpServer } from '../../support/network/http-server.ts'

const server = await startApp()
const base = await server.listen()
const issuer = `${base}/v1/projects/${server.project.id}`

const alice = { sub: 'alice' }

test('without background, a token waits for a load once the last one is older than coolDown', async () => {
  const { kid, token } = await registerAndSign(server)
  let requests = 0
  const counted: typeof fetch = (...request) => {
    requests += 1
    expect(new Headers(request[1]?.headers).get('prefer')).toBe('wait=0')
    return fetch(...request)
  }
  const options = { background: false, fetch: counted }
  const { keys: calm } = openKeySet(issuer, { ...options, coolDown: 600_000 })
  expect(await verifyResult(calm, token)).toEqual(alice)
  expect(await verifyResult(calm, token)).toEqual(alice)
  expect({ requests, status: calm.state().status }).toEqual({ requests: 1, status: 'polling' })
  const { keys } = openKeySet(issuer, { ...options, coolDown: 400 })
  expect(await verifyResult(keys, token)).toEqual(alice)
  await setActive(server, kid, false)
  await expect.poll(() => verifyResult(keys, token)).toBe('kid_unknown')
  keys.close()
  expect(await verifyResult(keys, token)).toBe('key_set_unavailable')
})

test('the placeholder for an empty set is no key', async () => {
  const { id, keys: url, jwks } = await newProject(server, 'emptied')
  const kid = await registerKey(server, {}, url)
  await patchKey(server, kid, { active: false }, url)
  for (const address of [`${base}/v1/projects/${id}`, base + jwks]) {
    const { keys } = openKeySet(address)
    await keys.ready()
    expect(keys.state()).toMatchObject({ status: 'live', kids: [] })
    await expect(keys({ alg: 'ES256', kid: 'no-active-key' })).rejects.toThrow(
      expect.objectContaining({ code: 'kid_unknown' }),
    )
  }
})

describe('the address of the key set', () => {
  test.each([
    ['the issuer with a trailing slash', () => `${issuer}/`],
    ['the JWKS URL', () => `${issuer}/.well-known/jwks.json`],
    ['a URL object, with the name of the project', () => new URL(`${base}/v1/projects/payments`)],
  ])('may be %s', async (_, address) => {
    const { keys } = openKeySet(String(address()))
    await keys.ready()
  })

  test.each(['', 'payments', 'https://keys.example.com', 'https://u:p@h/v1/projects/a', 'ftp://h'])(
    '%j is rejected',
    (address) => {
      expect(() => projectKeySet(address)).toThrow(
        expect.objectContaining({ name: 'KeySetError', code: 'invalid_address' }),
      )
    },
  )
})

test.each([2_999, Number.NaN])(
  'a maxStale of %d is rejected, not raised to the minimum',
  (maxStale) => {
    expect(() => projectKeySet(issuer, { maxStale })).toThrow(
      expect.objectContaining({ name: 'KeySetError', code: 'invalid_option' }),
    )
  },
)

describe('a token', () => {
  test('signed with the algorithm of its key is accepted', async () => {
    const all = keyOfEach()
    const document = JSON.stringify({ keys: all.map(({ jwk }) => jwk) })
    const published = await startHttpServer((_, outgoing) => outgoing.end(document))
    const { keys } = openKeySet(`${published.url}/v1/projects/all`, { background: false })
    for (const { tokenOf, jwk } of all) {
      expect([jwk.alg, await verifyResult(keys, tokenOf(alice))]).toEqual([jwk.alg, alice])
    }
  })

  test('of a key that this runtime cannot use is rejected, and the others are accepted', async () => {
    const [{ jwk, tokenOf } = expect.fail()] = keyOfEach()
    const future = { ...jwk, kid: 'future', alg: 'ES9000' }
    const document = JSON.stringify({
      keys: [future, jwk, { ...future, kid: 'broken', alg: 'ES512' }],
    })
    const published = await startHttpServer((_, outgoing) => outgoing.end(document))
    const { keys } = openKeySet(`${published.url}/v1/projects/all`, { background: false })
    for (const { kid, alg } of [future, { kid: 'broken', alg: 'ES512' }]) {
      await expect(keys({ kid, alg })).rejects.toMatchObject({ code: 'algorithm_unsupported' })
    }
    expect(await verifyResult(keys, tokenOf(alice))).toEqual(alice)
  })

  test('of a key registered later is accepted, and rejected while the key is inactive', async () => {
    const { keys, waitForState } = openKeySet(issuer)
    await keys.ready()
    const { kid, token } = await registerAndSign(server)
    for (const isActive of [true, false, true]) {
      await setActive(server, kid, isActive)
      await waitForState(({ kids }) => kids.includes(kid) === isActive)
      expect(await verifyResult(keys, token)).toEqual(isActive ? alice : 'kid_unknown')
    }
  })

  test('whose key expires is rejected from then on', async () => {
    const expireTime = new Date(Date.now() + 1_500).toISOString()
    const { kid, token } = await registerAndSign(server, 'ES256', { expireTime })
    const { keys, waitForState } = openKeySet(issuer)
    expect(await verifyResult(keys, token)).toEqual(alice)
    await waitForState(({ kids }) => !kids.includes(kid))
    expect(await verifyResult(keys, token)).toBe('kid_unknown')
  })

  test('without a kid, of another project, or signed with another key is rejected', async () => {
    const { privateKey } = keyFor('ES256')
    const { keys } = openKeySet(issuer)
    for (const kid of [undefined, '', 7]) {
      const token = signToken(privateKey, { alg: 'ES256', kid }, alice)
      expect(await verifyResult(keys, token)).toBe('kid_missing')
    }
    const { id: project } = await newProject(server, 'other')
    const { token } = await registerAndSign(server, 'ES256', { project })
    expect(await verifyResult(keys, token)).toBe('kid_unknown')
    const { kid } = await registerAndSign(server)
    const forged = signToken(privateKey, { alg: 'ES256', kid }, alice)
    await expect
      .poll(() => verifyResult(keys, forged))
      .toBe('ERR_JWS_SIGNATURE_VERIFICATION_FAILED')
  })

  test.each(['none', 'HS256', 'RS512', 'PS256'])(
    'of an RS256 key with alg %s is rejected',
    async (alg) => {
      const { kid, token } = await registerAndSign(server, 'RS256')
      const { keys } = openKeySet(issuer)
      const error = { code: 'algorithm_mismatch' }
      await expect(keys({ alg, kid })).rejects.toMatchObject(error)
      const [, claims, signature] = token.split('.')
      const altered = [base64url({ alg, kid }), claims, alg === 'none' ? '' : signature].join('.')
      await expect(jwtVerify(altered, keys)).rejects.toThrow()
    },
  )
})

describe('the key set', () => {
  test('is loaded with one request, however many tokens arrive, and reports each change of its state', async () => {
    const { token } = await registerAndSign(server)
    const requests: string[] = []
    const counting: typeof fetch = (input, init) => {
      requests.push(new Headers(init?.headers).get('prefer') ?? '')
      return fetch(input, init)
    }
    const { keys, states, waitForState } = openKeySet(issuer, { fetch: counting })
    expect(keys.state()).toEqual({ status: 'empty', kids: [] })
    const all = await Promise.all(Array.from({ length: 100 }, () => verifyResult(keys, token)))
    expect(all).toEqual(Array(100).fill(alice))
    expect(requests.filter((prefer) => prefer === 'wait=0')).toHaveLength(1)
    const { kid } = await registerAndSign(server)
    await waitForState(({ kids }) => kids.includes(kid))
    keys.close()
    await waitForState(({ status }) => status === 'closed')
    expect(states.map(({ status }) => status)).toEqual(['live', 'live', 'closed'])
    await expect(keys({ alg: 'ES256', kid })).rejects.toMatchObject({ code: 'key_set_unavailable' })
  })

  test('of a project that does not exist is unavailable, with the reason', async () => {
    const { keys } = openKeySet(`${base}/v1/projects/nobody`)
    const error = { code: 'key_set_unavailable', message: expect.stringMatching(/404.*project/) }
    await expect(keys.ready()).rejects.toMatchObject(error)
    expect(keys.state()).toMatchObject({ status: 'empty', error })
  })
})
