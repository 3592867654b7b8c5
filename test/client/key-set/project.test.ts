import { jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { KeySetError, projectKeySet } from '../../../packages/client/src/verify.ts'
import { algorithmNames } from '../../../packages/intake/src/algorithms.ts'
import { startApp } from '../../support/app/app.ts'
import { openKeySet, registerAndSign, setActive, verifyResult } from '../../support/app/key-set.ts'
import { newProject, patchKey, registerKey } from '../../support/app/keys.ts'
import { base64url, keyFor, signToken } from '../../support/keys/tokens.ts'

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
    ['the issuer', () => issuer],
    ['the issuer with a trailing slash', () => `${issuer}/`],
    ['the JWKS URL', () => `${issuer}/.well-known/jwks.json`],
    ['a URL object, with the name of the project', () => new URL(`${base}/v1/projects/payments`)],
  ])('may be %s', async (_, address) => {
    const { token } = await registerAndSign(server)
    const keys = projectKeySet(address())
    expect(await verifyResult(keys, token)).toEqual(alice)
    keys.close()
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

test.each([0, 2_999, -1, Number.NaN])(
  'a maxStale of %d is rejected, not raised to the minimum',
  (maxStale) => {
    expect(() => projectKeySet(issuer, { maxStale })).toThrow(
      expect.objectContaining({ name: 'KeySetError', code: 'invalid_option' }),
    )
  },
)

describe('a token', () => {
  test.each(algorithmNames)(
    'signed with the algorithm of its key (%s) is accepted',
    async (name) => {
      const { token } = await registerAndSign(server, name)
      const { keys } = openKeySet(issuer)
      expect(await verifyResult(keys, token)).toEqual(alice)
    },
  )

  test('of a key registered while the key set is followed is accepted', async () => {
    const { keys, waitForState } = openKeySet(issuer)
    await keys.ready()
    const { kid, token } = await registerAndSign(server)
    await waitForState(({ kids }) => kids.includes(kid))
    expect(await verifyResult(keys, token)).toEqual(alice)
  })

  test('whose key is deactivated is rejected, and accepted when it is active again', async () => {
    const { kid, token } = await registerAndSign(server)
    const { keys, waitForState } = openKeySet(issuer)
    for (let round = 0; round < 3; round += 1) {
      await waitForState(({ kids }) => round === 0 || kids.includes(kid))
      expect(await verifyResult(keys, token)).toEqual(alice)
      await setActive(server, kid, false)
      await waitForState(({ kids }) => !kids.includes(kid))
      expect(await verifyResult(keys, token)).toBe('kid_unknown')
      await setActive(server, kid, true)
    }
  })

  test('is rejected when the last key is deactivated: the empty key set is accepted', async () => {
    const made = await server.send('POST', '/v1/projects', { body: { name: 'single' } })
    const project = made.json().id
    const { kid, token } = await registerAndSign(server, 'ES256', { project })
    const { keys, waitForState } = openKeySet(`${base}/v1/projects/${project}`)
    expect(await verifyResult(keys, token)).toEqual(alice)
    const path = `/v1/projects/${project}/jwt-keys/${kid}`
    await server.send('PATCH', path, { body: { active: false } })
    await waitForState(({ kids }) => kids.length === 0)
    expect(await verifyResult(keys, token)).toBe('kid_unknown')
    expect(keys.state().status).toBe('live')
  })

  test('whose key expires is rejected from then on', async () => {
    const expireTime = new Date(Date.now() + 1_500).toISOString()
    const { kid, token } = await registerAndSign(server, 'ES256', { expireTime })
    const { keys, waitForState } = openKeySet(issuer)
    expect(await verifyResult(keys, token)).toEqual(alice)
    await waitForState(({ kids }) => !kids.includes(kid))
    expect(await verifyResult(keys, token)).toBe('kid_unknown')
  })

  test('of another project is rejected', async () => {
    const made = await server.send('POST', '/v1/projects', { body: { name: 'other' } })
    const { token } = await registerAndSign(server, 'ES256', { project: made.json().id })
    const { keys } = openKeySet(issuer)
    expect(await verifyResult(keys, token)).toBe('kid_unknown')
  })

  test('without a kid is rejected with any number of keys', async () => {
    const { privateKey } = keyFor('ES256')
    const { keys } = openKeySet(issuer)
    for (const kid of [undefined, '', 7]) {
      const token = signToken(privateKey, { alg: 'ES256', kid }, alice)
      expect(await verifyResult(keys, token)).toBe('kid_missing')
    }
  })

  test.each(['RS512', 'PS256'] as const)('of an RS256 key with alg %s is rejected', async (alg) => {
    const { token } = await registerAndSign(server, 'RS256', { alg })
    const { keys } = openKeySet(issuer)
    expect(await verifyResult(keys, token)).toBe('algorithm_mismatch')
  })

  test.each(['none', 'HS256'])('with alg %s is rejected', async (alg) => {
    const { kid } = await registerAndSign(server, 'RS256')
    const { keys } = openKeySet(issuer)
    const error = { code: 'algorithm_mismatch' }
    await expect(keys({ alg, kid })).rejects.toMatchObject(error)
    const token = `${base64url({ alg, kid })}.${base64url(alice)}.${alg === 'none' ? '' : 'AAAA'}`
    await expect(jwtVerify(token, keys)).rejects.toThrow()
  })

  test('signed with another key is rejected', async () => {
    const { kid } = await registerAndSign(server)
    const forged = signToken(keyFor('ES256').privateKey, { alg: 'ES256', kid }, alice)
    const { keys } = openKeySet(issuer)
    expect(await verifyResult(keys, forged)).toBe('ERR_JWS_SIGNATURE_VERIFICATION_FAILED')
  })
})

describe('the key set', () => {
  test('reports that it is live, each change, and that it is closed', async () => {
    const { keys, states, waitForState } = openKeySet(issuer)
    expect(keys.state()).toEqual({ status: 'empty', kids: [] })
    await keys.ready()
    expect(keys.state()).toMatchObject({ status: 'live' })
    const { kid } = await registerAndSign(server)
    await waitForState(({ kids }) => kids.includes(kid))
    keys.close()
    await waitForState(({ status }) => status === 'closed')
    expect(states.map(({ status }) => status)).toEqual(['live', 'live', 'closed'])
    const error = await keys({ alg: 'ES256', kid }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(KeySetError)
    expect(error).toMatchObject({ code: 'key_set_unavailable' })
  })

  test('is loaded with one request, however many tokens arrive', async () => {
    const { token } = await registerAndSign(server)
    const requests: string[] = []
    const counting: typeof fetch = (input, init) => {
      requests.push(new Headers(init?.headers).get('prefer') ?? '')
      return fetch(input, init)
    }
    const { keys } = openKeySet(issuer, { fetch: counting })
    const all = await Promise.all(Array.from({ length: 100 }, () => verifyResult(keys, token)))
    expect(all).toEqual(Array(100).fill(alice))
    expect(requests.filter((prefer) => prefer === 'wait=0')).toHaveLength(1)
  })

  test('of a project that does not exist is unavailable, with the reason', async () => {
    const { keys } = openKeySet(`${base}/v1/projects/nobody`)
    const error = { code: 'key_set_unavailable', message: expect.stringMatching(/404.*project/) }
    await expect(keys.ready()).rejects.toMatchObject(error)
    expect(keys.state()).toMatchObject({ status: 'empty', error })
  })
})
