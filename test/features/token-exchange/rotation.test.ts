import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Algorithm } from '../../../packages/intake/src/algorithms.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import type { Warning } from '../../../packages/server/src/features/warnings/contract.ts'
import { createHooks } from '../../../packages/server/src/kernel/hooks.ts'
import { publicUrl } from '../../support/app/app.ts'
import { newRotatedKey, type RegisteredKey, startRotationApp } from '../../support/app/rotation.ts'
import { accessRulesUrl } from '../../support/app/workloads.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import { origin } from '../../support/store/store.ts'
import { flatRefusal } from './flat-refusal.ts'

let key: RegisteredKey

const server = await startRotationApp({ maxKeysPerProject: 1_000, maxJwksBytes: 1_000_000 })
const ruleId = (await server.rule()).id

beforeEach(async () => {
  key = await server.registered()
})

const otherProject = () => `other-${randomUUID().slice(0, 8)}`
const read = async (kid: string) => (await server.send('GET', `${server.keysUrl}/${kid}`)).json()
const listWith = (secret: string) =>
  server.send('GET', server.keysUrl, { headers: { 'x-api-key': secret } })
const disable = (kid: string, query = '') =>
  server.send('PATCH', `${server.keysUrl}/${kid}${query}`, { body: { active: false } })
/** Lets the registry know that others have the private key: the key stays active. */
const expose = async ({ privateKey }: RegisteredKey) => {
  const publicKeyPem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const check = await server.send('POST', '/v1/key-checks', { body: { publicKeyPem } })
  expect(check.json().problem).toBe('private_key_submitted')
}
const eventsAfter = async (revision: number) =>
  (await server.send('GET', `/v1/projects/payments/events?after=${revision}`)).json()
const revision = async () => (await server.send('GET', '/v1/projects/payments')).json().revision

describe('a key vouches for its successor', () => {
  test.each<Algorithm>(['RSA', 'ES256', 'Ed25519', 'ML-DSA-44'])(
    '%s: it is registered, and the ledger says by whom',
    async (algorithm) => {
      const publishedKid = `spring ${algorithm}`.replace(' ', '-')
      const old = await server.registered({ publishedKid }, algorithm)
      const before = await revision()
      const successor = await newRotatedKey(algorithm)
      const response = await server.exchange(
        server.token({ ...old, kid: publishedKid }, successor.jkt),
      )
      expect(response.statusCode, response.body).toBe(200)
      const secret = response.json().access_token
      const created = await server.create(secret, successor)
      expect(created.statusCode, created.body).toBe(201)
      const { kid } = created.json()
      const { details } = await read(kid)
      expect(details).toMatchObject({ introducedBy: old.kid, thumbprint: successor.jkt })
      const workload = { ruleId, issuer: server.issuer, subject: publishedKid }
      expect(await eventsAfter(before)).toMatchObject([
        { type: 'token.used', actor: { workload } },
        {
          type: 'token.exchanged',
          actor: { workload },
          changes: { role: { to: 'registrar' }, successor: { to: successor.jkt } },
        },
        { type: 'token.used', actor: { workload } },
        {
          type: 'key.created',
          actor: { workload },
          subject: { id: kid },
          changes: { introducedBy: { to: old.kid } },
        },
      ])
      expect((await listWith(secret)).statusCode).toBe(200)
    },
  )

  test('no more once it was changed, also if the row of the API key is put back', async () => {
    const successor = await newRotatedKey()
    const secret = await server.vouched(key, successor)
    const find = 'select * from api_key where successor = ?'
    const [row = {}] = await server.database.query(find, successor.jkt)
    const before = await revision()
    for (const active of [false, true]) {
      await server.send('PATCH', `${server.keysUrl}/${key.kid}`, { body: { active } })
    }
    const ended = { type: 'api_key.deleted', subject: { type: 'api_key', id: row.id } }
    expect(await eventsAfter(before)).toMatchObject([
      { type: 'key.updated' },
      ended,
      { type: 'key.updated' },
    ])
    await server.database.execute(
      `insert into api_key (${Object.keys(row)}) values (${Object.keys(row).map(() => '?')})`,
      ...(Object.values(row) as string[]),
    )
    expect((await listWith(secret)).statusCode).toBe(401)
    expect((await server.create(secret, successor)).statusCode).toBe(401)
    await server.database.execute('delete from api_key where successor = ?', successor.jkt)
  })

  test('only if the project has a rule for it', async () => {
    const { jkt } = await newRotatedKey()
    const send = () => server.exchange(server.token(key, jkt))
    for (const [active, status] of [
      [false, 400],
      [true, 200],
    ] as const) {
      await server.send('PATCH', `${accessRulesUrl}/${ruleId}`, { body: { active } })
      expect((await send()).statusCode).toBe(status)
    }
  })

  test('nothing is registered with it, or with a proof, if no feature checks that', async () => {
    const successor = await newRotatedKey()
    const secret = await server.vouched(key, successor)
    const { kernel } = server.app
    const { hooks } = kernel
    kernel.hooks = createHooks([])
    const before = await revision()
    const statuses = [
      (await server.create(secret, successor, { proof: undefined })).statusCode,
      (await server.create(server.admin, successor)).statusCode,
    ]
    kernel.hooks = hooks
    expect(statuses).toEqual([500, 500])
    expect(await revision()).toBe(before)
  })

  test('a check of the rule says why a token would be refused', async () => {
    const { jkt } = await newRotatedKey()
    const check = async (token: string) =>
      (await server.send('POST', `${accessRulesUrl}/${ruleId}/checks`, { body: { token } })).json()
    const accepted = await check(server.token(key, jkt))
    expect(accepted.accepted).toBe(true)
    expect(accepted.steps.map(({ step }: { step: string }) => step)).toContain('cnf')
    const refused = await check(server.token(key, jkt, {}, { typ: 'JWT' }))
    expect(refused.steps.at(-1)).toMatchObject({ step: 'type', outcome: 'failed' })
  })
})

describe('a rule for it', () => {
  test.each([
    ['a writer', { role: 'writer' }, '/role'],
    ['tokens that are used twice', { singleUse: false }, '/singleUse'],
    ['all projects', { project: undefined, allProjects: true }, '/project'],
    ['another audience', { audience: 'https://other.example' }, '/issuer'],
    ['another issuer', { issuer: `${publicUrl}/v1/projects/other` }, '/issuer'],
    ['keys of its own', { jwks: { keys: [] } }, '/keySource'],
  ])('is refused for %s', async (_name, members, pointer) => {
    const own = { for: 'workloads', name: 'n', issuer: server.issuer, keySource: 'project' }
    const body = { ...own, conditions: {}, role: 'registrar', project: 'payments', ...members }
    const response = await server.send('POST', accessRulesUrl, { body })
    expect(response.statusCode).toBe(400)
    expect(response.json().errors).toContainEqual(expect.objectContaining({ pointer }))
    if ('issuer' in members || 'project' in members) return
    const patched = await server.send('PATCH', `${accessRulesUrl}/${ruleId}`, { body: members })
    expect(patched.json().errors).toMatchObject([{ pointer }])
  })
})

describe('a rotation token', () => {
  const later = (seconds: number) => Math.floor(server.clock.now() / 1_000) + seconds
  const attacks: [name: string, attack: () => Promise<string> | string][] = [
    ['without typ', () => server.token(key, jkt, {}, { typ: undefined })],
    ['with a typ in upper case', () => server.token(key, jkt, {}, { typ: 'PUBRING-ROTATION+JWT' })],
    ['for more than 5 minutes', () => server.token(key, jkt, { exp: later(310) })],
    ['without cnf', () => server.token(key, jkt, { cnf: undefined })],
    ['with a jkt that is a list', () => server.token(key, jkt, { cnf: { jkt: [jkt] } })],
    ['with a jkt that is no thumbprint', () => server.token(key, `${jkt}A`)],
    ['for another audience', () => server.token(key, jkt, { aud: 'https://other.example' })],
    ['with the issuer and a slash', () => server.token(key, jkt, { iss: `${server.issuer}/` })],
    ['without kid', () => server.token({ ...key, kid: '' }, jkt)],
    ['with the kid of no key', () => server.token({ ...key, kid: 'none' }, jkt)],
    ['by another key', async () => server.token({ ...(await newRotatedKey()), kid: key.kid }, jkt)],
    [
      'with another alg of the same key',
      async () => {
        const rsa = await server.registered({}, 'RS256')
        return server.token({ ...rsa, algorithm: 'PS256' }, jkt)
      },
    ],
    ['signed by a disabled key', () => disable(key.kid).then(() => server.token(key, jkt))],
    ['signed by a compromised key', () => expose(key).then(() => server.token(key, jkt))],
    [
      'signed by an expired key',
      async () => {
        const expireTime = new Date(server.clock.now() + 2_000).toISOString()
        const expiring = await server.registered({ expireTime })
        server.clock.advance(2_000)
        return server.token(expiring, jkt)
      },
    ],
    [
      'signed by a key of another project',
      async () => {
        const { id } = (
          await server.send('POST', '/v1/projects', { body: { name: otherProject() } })
        ).json()
        const { publicKeyPem, algorithm, ...own } = await newRotatedKey()
        const body = { name: 'n', algorithm, publicKeyPem }
        const created = await server.send('POST', `/v1/projects/${id}/jwt-keys`, { body })
        return server.token({ ...own, algorithm, kid: created.json().kid }, jkt)
      },
    ],
    [
      'that was used before',
      async () => {
        const token = server.token(key, jkt)
        expect((await server.exchange(token)).statusCode).toBe(200)
        return token
      },
    ],
  ]
  let jkt: string
  beforeEach(async () => {
    jkt = (await newRotatedKey()).jkt
  })

  test.each(attacks)('%s is refused', async (_name, attack) => {
    const response = await server.exchange(await attack())
    expect(response.statusCode).toBe(400)
    expect(response.body).toBe(flatRefusal)
  })
})

describe('the API key', () => {
  test('registers only the key that was vouched for', async () => {
    const [vouched, swapped] = [await newRotatedKey(), await newRotatedKey()]
    const secret = await server.vouched(key, vouched)
    const other = await server.create(secret, swapped)
    expect(other.statusCode).toBe(403)
    expect(other.json().code).toBe('key_not_vouched')
    expect((await server.create(secret, vouched)).statusCode).toBe(201)
  })

  test('registers it once, even if it was deleted since', async () => {
    const vouched = await newRotatedKey()
    const secret = await server.vouched(key, vouched)
    const all = await Promise.all([1, 2, 3].map(() => server.create(secret, vouched)))
    expect(all.map(({ statusCode }) => statusCode).sort()).toEqual([201, 403, 403])
    const kid = all.find(({ statusCode }) => statusCode === 201)?.json().kid
    await disable(kid)
    await server.send('DELETE', `${server.keysUrl}/${kid}`)
    expect((await server.create(secret, vouched)).json().code).toBe('key_not_vouched')
  })

  test('an attempt that was rejected leaves it usable', async () => {
    const vouched = await newRotatedKey()
    const secret = await server.vouched(key, vouched)
    expect((await server.create(secret, vouched, { publishedKid: key.kid })).statusCode).toBe(400)
    expect((await server.create(secret, vouched)).statusCode).toBe(201)
  })

  test.each<[string, (vouched: RegisteredKey) => Promise<object> | object]>([
    ['no proof', () => ({ proof: undefined })],
    ['the token of the old key', ({ jkt }) => ({ proof: server.token(key, jkt) })],
    [
      'a proof by another key',
      async ({ jkt }) => ({ proof: server.token(await newRotatedKey(), jkt) }),
    ],
    ['a proof that names another key', (own) => ({ proof: server.token(own, key.jkt) })],
    [
      'a login token of the new key',
      (own) => ({
        proof: server.token(own, own.jkt, {}, { typ: 'JWT' }),
      }),
    ],
  ])('needs a proof of the new key: %s', async (_name, members) => {
    const vouched = { ...(await newRotatedKey()), kid: '' }
    const secret = await server.vouched(key, vouched)
    const response = await server.create(secret, vouched, await members(vouched))
    expect(response.statusCode).toBe(400)
    expect(response.json()).toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: '/proof', code: 'proof_invalid' }],
    })
    expect((await server.create(secret, vouched)).statusCode).toBe(201)
  })

  test('registers it with the algorithm that the proof was made with', async () => {
    const vouched = await newRotatedKey('RS256')
    const secret = await server.vouched(key, vouched)
    const response = await server.create(secret, vouched, { algorithm: 'PS256' })
    expect(response.json().errors).toMatchObject([{ pointer: '/proof', code: 'proof_invalid' }])
  })

  test('is the only one that may send a proof', async () => {
    const { publicKeyPem, algorithm, ...own } = await newRotatedKey()
    const proof = server.token({ algorithm, ...own }, own.jkt)
    const body = { name: 'n', algorithm, publicKeyPem, proof }
    const response = await server.send('POST', server.keysUrl, { body })
    expect(response.json().errors).toMatchObject([{ code: 'proof_unexpected' }])
  })

  test('a private key sent as the proof is recorded', async () => {
    const vouched = await newRotatedKey()
    const secret = await server.vouched(key, vouched)
    const proof = vouched.privateKey.export({ type: 'pkcs8', format: 'pem' })
    const response = await server.create(secret, vouched, { proof })
    expect(response.json().code).toBe('private_key_submitted')
    expect((await server.create(secret, vouched)).json().code).toBe('compromised_key')
  })

  test('can do nothing else, nor read a stream that would outlast its key', async () => {
    const secret = await server.vouched(key, await newRotatedKey())
    const headers = { 'x-api-key': secret }
    const accept = { ...headers, accept: 'text/event-stream' }
    // Without the end of the stream there is no response.
    await server.send('GET', '/v1/projects/payments/events', { headers: accept }).catch(() => {})
    const url = `${server.keysUrl}/${key.kid}`
    const patch = await server.send('PATCH', url, { headers, body: { active: false } })
    expect(patch.statusCode).toBe(403)
    const items = [{ name: 'n', algorithm: 'ES256', publicKeyPem: 'x' }]
    const imported = await server.send('POST', '/v1/projects/payments/key-imports', {
      headers,
      body: { keys: items },
    })
    expect(imported.statusCode).toBe(403)
  })

  const ends: [string, () => Promise<unknown>][] = [
    ['disabled', () => disable(key.kid)],
    ['compromised', () => expose(key)],
    [
      'deleted',
      async () => {
        await disable(key.kid)
        await server.send('DELETE', `${server.keysUrl}/${key.kid}`)
      },
    ],
    [
      'expired',
      async () => {
        const expireTime = new Date(server.clock.now() + 30_000).toISOString()
        await server.send('PATCH', `${server.keysUrl}/${key.kid}`, { body: { expireTime } })
        server.clock.advance(30_000)
      },
    ],
  ]
  test.each(ends)('ends with the next request once its key is %s', async (_name, end) => {
    const vouched = await newRotatedKey()
    const secret = await server.vouched(key, vouched)
    expect((await listWith(secret)).statusCode).toBe(200)
    await end()
    expect((await listWith(secret)).json().code).toBe('invalid_api_key')
    expect((await server.create(secret, vouched)).json().code).toBe('invalid_api_key')
  })

  test.each([true, false])('is checked again inside the transaction: %s', async (isDisabled) => {
    const before = await revision()
    const { jkt: thumbprint } = await newRotatedKey()
    await server.vouched(key, { jkt: thumbprint })
    const [, exchange] = await eventsAfter(before)
    const { id: projectId } = server.project
    if (isDisabled) await disable(key.kid)
    const credential = { type: 'api_key', id: exchange.subject.id } as const
    const created = server.context.store.commit(keyChanges.createKey, {
      key: keyRecord(projectId, { thumbprint }),
      limits: { maxKeys: 1_000, maxJwksBytes: 1_000_000 },
      origin: {
        ...origin(),
        authorization: { credential, access: { role: 'registrar', auditor: false }, projectId },
      },
    })
    if (isDisabled) await expect(created).rejects.toMatchObject({ code: 'invalid_api_key' })
    else await expect(created).resolves.toMatchObject({ introducedBy: key.kid })
  })
})

describe('an ended key that vouched for others', () => {
  let child: RegisteredKey
  let grandchild: RegisteredKey
  beforeEach(async () => {
    child = await server.successorOf(key)
    grandchild = await server.successorOf(child)
  })
  const warned = async () => {
    const headers = { 'x-api-key': await server.apiKey('reader', server.project.id) }
    const all: Warning[] = (await server.send('GET', '/v1/warnings', { headers })).json()
    const own = [key, child, grandchild].map(({ kid }) => kid)
    return all.filter(
      (warning) => warning.code === 'vouched_keys_active' && own.includes(warning.kid ?? ''),
    )
  }

  test('is a warning that names those that are active, as long as they are', async () => {
    expect(await warned()).toEqual([])
    const response = await disable(key.kid)
    expect(response.json().warnings).toMatchObject([{ code: 'vouched_keys_active' }])
    const [{ detail }] = response.json().warnings
    expect(detail).toContain(`${child.kid}, ${grandchild.kid}`)
    const named = expect.stringContaining(child.kid)
    expect(await warned()).toMatchObject([{ kid: key.kid, label: 'orders', detail: named }])
    // The chain goes on behind one that is off, or deleted.
    expect((await disable(child.kid)).json().warnings[0].detail).toContain(grandchild.kid)
    const last = { kid: child.kid, detail: expect.stringContaining(grandchild.kid) }
    expect(await warned()).toMatchObject([last])
    await server.send('DELETE', `${server.keysUrl}/${child.kid}`)
    expect(await warned()).toMatchObject([last])
    const time = new Date(server.clock.now()).toISOString()
    const { warnings, warnedProjects } = await server.context.store.census(time)
    expect(warnings.map(({ code }) => code)).toContain('vouched_keys_active')
    expect(warnedProjects).toContain(server.project.id)
    expect((await disable(grandchild.kid)).json().warnings ?? []).toEqual([])
    expect(await warned()).toEqual([])
  })

  test('is one too once it has expired, and the change that sets its end names them', async () => {
    const expireIn = async (kid: string, ms: number) => {
      const expireTime = new Date(server.clock.now() + ms).toISOString()
      const patch = { body: { expireTime } }
      return (await server.send('PATCH', `${server.keysUrl}/${kid}`, patch)).json().warnings
    }
    expect(await expireIn(child.kid, 30_000)).toMatchObject([
      { code: 'vouched_keys_active', detail: expect.stringContaining(grandchild.kid) },
    ])
    const named = [{ code: 'vouched_keys_active', detail: expect.stringMatching(grandchild.kid) }]
    const warnings = await expireIn(key.kid, 60_000)
    expect(warnings).toMatchObject(named)
    expect(warnings[0].detail).not.toContain(child.kid)
    // A later end than the one that it has already ends nothing.
    expect(await expireIn(key.kid, 90_000)).toBeUndefined()
    server.clock.advance(90_000)
    expect((await warned()).map(({ kid }) => kid)).toEqual([child.kid])
  })

  test('leaves them as they are', async () => {
    await disable(key.kid)
    expect(await read(child.kid)).toMatchObject({
      ...{ active: true, details: { introducedBy: key.kid } },
    })
  })
})
