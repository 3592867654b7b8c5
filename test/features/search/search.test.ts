import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Search } from '../../../packages/server/src/features/search/contract.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { startApp } from '../../support/app/app.ts'
import { newProject, patchKey, registerKey } from '../../support/app/keys.ts'
import { ecKey, privatePem } from '../../support/keys/pem.ts'
import { signToken } from '../../support/keys/tokens.ts'
import { rememberSecret } from '../../support/secrets.ts'
import { temporaryFolder } from '../../support/server/process.ts'

const server = await startApp()
const orders = await newProject(server, 'orders')
const billing = await newProject(server, 'billing')
const pem = ecKey().publicKeyPem
const members = { name: 'Orders, spring', publicKeyPem: pem, publishedKid: 'orders-2026-05' }
const kid = await registerKey(server, members, orders.keys)
const details: { thumbprint: string; spkiSha256: string } = (
  await server.send('GET', `${orders.keys}/${kid}`)
).json().details
const opensshLine = printFingerprint(pem)
const off = { active: false, name: '100% _off_ \\ 😀' }
const deleted = await registerKey(server, { ...off, publishedKid: 'old-kid' }, billing.keys)
await registerKey(server, off, billing.keys)
const response = await server.send('DELETE', `${billing.keys}/${deleted}`)
const requestId = String(response.headers['x-request-id'])
const keys = {
  reader: await server.apiKey('reader'),
  bound: await server.apiKey('reader', orders.id),
  admin: await server.apiKey('admin', orders.id),
}

/** A line of `ssh-keygen -l`. */
function printFingerprint(publicKeyPem: string): string {
  const run = (...args: string[]) => execFileSync('ssh-keygen', args, { encoding: 'utf8' })
  const { folder, remove } = temporaryFolder()
  const [pemFile, file] = [join(folder, 'key.pem'), join(folder, 'key.pub')]
  writeFileSync(pemFile, publicKeyPem)
  writeFileSync(file, run('-i', '-m', 'PKCS8', '-f', pemFile))
  const line = run('-l', '-f', file)
  remove()
  return line
}

async function request(q: string, secret = server.admin, more = '') {
  const headers = { 'x-api-key': secret }
  return server.send('GET', `/v1/search?q=${encodeURIComponent(q)}${more}`, { headers })
}

async function find(q: string, secret?: string): Promise<Search['results']> {
  const response = await request(q, secret)
  expect(response.statusCode, response.body).toBe(200)
  return response.json().results
}

/** Type, what matched, and the id of each result. */
async function found(q: string, secret?: string) {
  const results = await find(q, secret)
  return results.map((result) => {
    const id = result.type === 'key' ? result.kid : result.id
    return [result.type, result.matched, id]
  })
}

describe('a key is found', () => {
  test.each([
    ['its kid in upper case', () => kid.toUpperCase(), 'kid'],
    ['its kid without hyphens', () => kid.replaceAll('-', ''), 'kid'],
    ['its kid broken over two lines', () => ` ${kid.slice(0, 20)}\n  ${kid.slice(20)} `, 'kid'],
    ['a log line with its kid', () => `level=warn kid="${kid}" msg=unknown`, 'kid'],
    ['the end of its kid, as lists show it', () => `…${kid.slice(-6)}`, 'kid'],
    ['the last 4 characters of its kid', () => kid.slice(-4), 'kid'],
    ['its published kid', () => 'orders-2026-05', 'publishedKid'],
    ['the beginning of its published kid', () => 'orders-2', 'publishedKid'],
    ['its thumbprint', () => details.thumbprint, 'thumbprint'],
    ['the beginning of its thumbprint', () => details.thumbprint.slice(0, 8), 'thumbprint'],
    [
      'the hash in upper case with colons',
      () => details.spkiSha256.toUpperCase().replace(/(..)(?=.)/g, '$1:'),
      'spkiSha256',
    ],
    ['the beginning of its label in any case', () => 'oRDERS, s', 'label'],
    ['the middle of its label', () => 'sprI', 'label'],
    ['its OpenSSH fingerprint', () => opensshLine, 'sshFingerprint'],
    ['its PEM', () => pem, 'thumbprint'],
  ])('by %s', async (_name, text, matched) => {
    for (const secret of [server.admin, keys.bound]) {
      expect(await found(text(), secret)).toEqual([['key', matched, kid]])
    }
  })

  test('by the first 8 characters of its kid, with what identifies it', async () => {
    const results = await find(kid.slice(0, 8), keys.bound)
    expect(results.find(({ type }) => type === 'key')).toEqual({
      type: 'key',
      matched: 'kid',
      projectId: orders.id,
      projectName: 'orders',
      kid,
      publishedKid: 'orders-2026-05',
      label: 'Orders, spring',
      algorithm: 'ES256',
      state: 'spreading',
    })
    expect(await found(kid.slice(0, 7))).toEqual([])
  })

  test('once only, and as it is, if it was deleted and came back with its kid', async () => {
    const again = { publishedKid: 'again-and-again', publicKeyPem: ecKey().publicKeyPem }
    const before = await registerKey(server, { ...again, active: false }, orders.keys)
    await server.send('DELETE', `${orders.keys}/${before}`)
    const after = await registerKey(server, again, orders.keys)
    expect(await found('again-and-again')).toEqual([['key', 'publishedKid', after]])
  })
})

test('a project is found by id and name', async () => {
  expect(await found(billing.id.slice(-6))).toEqual([['project', 'id', billing.id]])
  expect(await found(billing.id)).toEqual([['project', 'id', billing.id]])
  expect(await found('BILL')).toEqual([['project', 'name', billing.id]])
})

test('only keys that exist and projects are found', async () => {
  const body = { name: 'Deploy pipeline', role: 'writer', project: 'orders' }
  const { id, prefix } = (await server.send('POST', '/v1/api-keys', { body })).json()
  for (const q of [deleted, 'old-kid', requestId, id, prefix, 'deploy']) {
    expect(await find(q)).toEqual([])
  }
})

test('an API key of another project gets the response for what does not exist', async () => {
  const answer = async (q: string) => {
    const { statusCode, body, headers } = await request(q, keys.admin)
    const { date: _date, 'x-request-id': _id, ...rest } = headers
    return { statusCode, body, rest }
  }
  const absent = await answer(newId())
  expect(JSON.parse(absent.body)).toEqual({ results: [], hasMore: false })
  for (const q of [billing.id, 'billing', '100% _']) expect(await answer(q)).toEqual(absent)
})

describe('a text', () => {
  test.each(['%', '_', '\\', '100_', "'", '"', '*', '\u202e', '👩‍💻', 'a\nb'])(
    '%j finds only what begins with it, or has three characters of it',
    async (q) => {
      expect(await find(q)).toEqual([])
      expect(await find(q, keys.bound)).toEqual([])
    },
  )

  test('with wildcards and emoji finds the label that has them', async () => {
    const results = await find('100% _off_ \\ 😀')
    expect(results).toMatchObject([{ matched: 'label', label: '100% _off_ \\ 😀' }])
  })

  test('of more results than were asked for gives as many keys and projects, and says so', async () => {
    for (let i = 0; i < 3; i += 1) await newProject(server, `many-${i}`)
    for (let i = 0; i < 3; i += 1) {
      await registerKey(server, { name: `many ${i}` }, '/v1/projects/many-0/jwt-keys')
    }
    const { results, hasMore } = (await request('many', server.admin, '&limit=2')).json()
    const types = ['key', 'key', 'project', 'project']
    expect(results).toMatchObject(types.map((type) => ({ type })))
    expect(hasMore).toBe(true)
    expect((await request('many', server.admin, '&limit=3')).json().hasMore).toBe(false)
  })

  test.each([
    ['  ', 'q is empty'],
    ['\0', 'q is empty'],
    ['😀'.repeat(256), 'longer than any label'],
  ])('%.20s is rejected with what to send', async (q, detail) => {
    const problem = (await request(q)).json()
    expect(problem).toMatchObject({ code: 'invalid_request', errors: [{ parameter: 'q' }] })
    expect(problem.detail).toContain(detail)
  })

  test('that is missing, or sent with too high a limit, is rejected', async () => {
    for (const query of ['', '?q=a&limit=51']) {
      expect((await server.send('GET', `/v1/search${query}`)).json().status).toBe(400)
    }
  })
})

describe('a secret is rejected, and neither logged nor stored:', () => {
  test('a token', async () => {
    const token = signToken(ecKey().privateKey, { alg: 'ES256' }, { sub: 'service', aud: 'orders' })
    for (const q of [token, `Authorization: Bearer ${token}`]) {
      const problem = (await request(q)).json()
      expect(problem).toMatchObject({ status: 400, code: 'invalid_request' })
      expect(problem.detail).toContain('POST …/token-checks')
    }
  })

  test('an API key', async () => {
    const problem = (await request(keys.reader)).json()
    expect(problem.detail).toContain('q is an API key')
  })

  test('a private key, whose public half is blocked from then on', async () => {
    const key = ecKey()
    const secret = rememberSecret('a private key', privatePem(key))
    const problem = (await request(secret)).json()
    expect(problem).toMatchObject({ status: 400, code: 'private_key_submitted' })
    const body = { name: 'n', algorithm: 'ES256', publicKeyPem: key.publicKeyPem }
    const again = await server.send('POST', orders.keys, { body })
    expect(again.json().code).toBe('compromised_key')
    const base64 = privatePem(ecKey()).replace(/-----.*-----|\n/g, '')
    const flat = rememberSecret('a private key', base64)
    expect((await request(flat)).json().code).toBe('private_key_submitted')
  })

  test('something that is no key, though it says so', async () => {
    const text = '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----'
    const problem = (await request(text)).json()
    expect(problem).toMatchObject({ code: 'invalid_key_pem', errors: [{ parameter: 'q' }] })
  })
})

test('a key that contradicts the ledger is off, and a project that does is left out', async () => {
  const key = await registerKey(server, { name: 'tampered' }, orders.keys)
  await patchKey(server, key, { active: false }, orders.keys)
  await server.database.execute('update jwt_key set enabled = 1 where id = ?', key)
  expect(await find('tampered', keys.reader)).toMatchObject([{ kid: key, state: 'off' }])

  const project = await newProject(server, 'rewritten')
  const own = await registerKey(server, {}, project.keys)
  const reader = await server.apiKey('reader', project.id)
  expect(await found(own, reader)).toEqual([['key', 'kid', own]])
  await server.database.execute("update project set name = 'else' where id = ?", project.id)
  expect(await find(own, reader)).toEqual([])
})
