import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { newApiKeySecret } from '../../../packages/server/src/kernel/access/secrets.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { keysUrl, newProject, patchKey, registerKey } from '../../support/app/keys.ts'
import {
  type Browser,
  bringKey,
  createLink,
  dayMs,
  exchange,
  keyBody,
  linksUrl,
  newBrowser,
  openLink,
  returnOrigin,
  sessionsUrl,
  startLinks,
  tokenChecksUrl,
} from '../../support/app/registration-links.ts'
import { ecKey, privatePem } from '../../support/keys/pem.ts'
import { signToken } from '../../support/keys/tokens.ts'

const server = await startLinks()

const payments = async () => (await server.send('GET', '/v1/projects/payments')).json()

const ended = async ({ send }: Browser) => {
  const answers = [
    await send('GET', `${sessionsUrl}/self`),
    await send('POST', keysUrl, keyBody()),
    await send('POST', tokenChecksUrl, { token: 'x' }),
    await send('POST', '/v1/key-checks', { publicKeyPem: 'x' }),
  ]
  return answers.map((answer) => `${answer.statusCode} ${answer.json().code}`)
}
const invalid = Array(4).fill('401 invalid_session')

async function expectNotFound(secret: string, headers = {}) {
  const answer = await exchange(server, secret, headers)
  expect([answer.statusCode, answer.json().code]).toEqual([404, 'link_not_found'])
  expect(answer.headers['set-cookie']).toBeUndefined()
  const { requestId: _id, ...body } = answer.json()
  return body
}

describe('opening a link', () => {
  test('unknown, used, expired and revoked links, and other texts, look the same', async () => {
    const used = await createLink(server)
    await openLink(server, used.secret)
    const revoked = await createLink(server)
    await server.send('DELETE', `${linksUrl}/${revoked.id}`)
    const expired = await createLink(server)
    server.clock.advance(8 * dayMs)
    const secrets = [used.secret, revoked.secret, expired.secret, newApiKeySecret(), 'x', '']
    const bodies = await Promise.all(secrets.map((secret) => expectNotFound(secret)))
    for (const body of bodies) expect(body).toEqual(bodies[0])
  })

  test('the browser that opened it may come back with the secret, others may not', async () => {
    const { secret } = await createLink(server)
    const browser = await openLink(server, secret)
    const again = await exchange(server, secret, { cookie: browser.cookie })
    expect([again.statusCode, again.json()]).toEqual([201, browser.opened.json()])
    expect(again.headers['set-cookie']).toContain(browser.cookie)
    const other = await newBrowser(server)
    await expectNotFound(secret, { cookie: other.cookie })
  })

  test('the cookie is for this site alone, and no script reads it', async () => {
    const { id, secret } = await createLink(server)
    const { opened } = await openLink(server, secret)
    const cookie = String(opened.headers['set-cookie'])
    expect(cookie).toMatch(/^[^=]+=pubring_\w{49}; Max-Age=604800; /)
    expect(cookie.split('=')[0]).toBe(`__Secure-pubring_registration_${id}`)
    expect(cookie).toMatch(/; Path=\/base\/; HttpOnly; SameSite=Strict; Secure$/)
    expect(opened.headers['cache-control']).toBe('no-store')
  })

  test.each(['GET', 'HEAD', 'OPTIONS'] as const)(
    'a preview by %s spends nothing, whatever it sends',
    async (method) => {
      const { secret, url } = await createLink(server)
      const { pathname } = new URL(url)
      for (const path of [pathname, sessionsUrl, `${sessionsUrl}?secret=${secret}`]) {
        await server.inject({ method, url: path.replace('/base', '') })
      }
      await openLink(server, secret)
    },
  )

  test('a page of another site can neither open a link nor use its session', async () => {
    const { secret } = await createLink(server)
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    const answer = await exchange(server, secret, foreign)
    expect(answer.json().code).toBe('cross_site_request')
    const browser = await openLink(server, secret)
    const headers = { ...foreign, ...browser.headers }
    const used = await server.inject({ method: 'GET', url: `${sessionsUrl}/self`, headers })
    expect(used.json().code).toBe('cross_site_request')
  })

  test('refused secrets count against the address, and a valid one is still accepted', async () => {
    const limited = await startLinks({ authFailureLimit: { limit: 3, window: 60 } })
    const { secret } = await createLink(limited)
    for (let count = 0; count < 3; count += 1) {
      expect((await exchange(limited, newApiKeySecret())).statusCode).toBe(404)
    }
    expect((await exchange(limited, newApiKeySecret())).statusCode).toBe(429)
    expect((await exchange(limited, secret)).statusCode).toBe(201)
    await limited.close()
  })
})

describe('the session of a link', () => {
  /** The operations that it may use. */
  const permitted = [
    'POST /v1/projects/{projectIdOrName}/jwt-keys',
    'GET /v1/projects/{projectIdOrName}/jwt-keys/{kid}',
    'POST /v1/projects/{projectIdOrName}/token-checks',
    'POST /v1/key-checks',
    'GET /v1/registration-sessions/self',
  ]
  const { paths }: { paths: Record<string, Record<string, { security?: object[] }>> } = JSON.parse(
    readFileSync('docs/openapi.json', 'utf8'),
  )
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => ({
      operation: `${method.toUpperCase()} ${path}`,
      isPublic: security?.length === 0,
    })),
  )

  test('opens these operations and no other one', async () => {
    const browser = await newBrowser(server)
    const url = (path: string, project: string) =>
      path.replace('{projectIdOrName}', project).replace(/\{\w+\}/g, newId())
    for (const { operation, isPublic } of operations) {
      const [method = '', path = ''] = operation.split(' ')
      const send = async (project: string) => {
        const body = /GET|DELETE/.test(method) ? undefined : {}
        const answer = await browser.send(method as 'GET', url(path, project), body)
        const isProblem = /problem/.test(String(answer.headers['content-type']))
        return [answer.statusCode, isProblem ? answer.json().code : ''].join(' ')
      }
      const [own, other] = [await send('payments'), await send(newId())]
      if (isPublic) continue
      if (permitted.includes(operation)) expect(own, operation).not.toMatch(/^40[13]|project_not/)
      else expect(own, operation).toBe('403 insufficient_role')
      if (path.includes('{project')) expect(other, operation).toBe('404 project_not_found')
    }
    expect(operations.length).toBeGreaterThan(60)
    const names = operations.filter(({ isPublic }) => !isPublic).map(({ operation }) => operation)
    expect(names).toEqual(expect.arrayContaining(permitted))
  })

  test('is bound to its project: others do not exist, by id or name', async () => {
    const { id } = await newProject(server, 'other')
    const browser = await newBrowser(server)
    for (const project of ['other', id]) {
      const url = `/v1/projects/${project}/jwt-keys`
      const answer = await browser.send('POST', url, keyBody())
      expect(answer.json().code).toBe('project_not_found')
    }
  })

  test('knows no key that did not come through its link', async () => {
    const [browser, stranger] = [await newBrowser(server), await newBrowser(server)]
    const { publicKeyPem, privateKey } = ecKey()
    const direct = await registerKey(server, { publicKeyPem })
    const foreign = await bringKey(stranger)
    const own = await bringKey(browser)
    const answerOf = async (kid: string) => (await browser.send('GET', `${keysUrl}/${kid}`)).json()
    expect((await answerOf(own.kid)).id).toBe(own.kid)
    for (const kid of [direct, foreign.kid])
      expect((await answerOf(kid)).code).toBe('key_not_found')
    const direct2 = signToken(privateKey, { alg: 'ES256', kid: direct }, {})
    const kidless = signToken(privateKey, { alg: 'ES256' }, {})
    for (const [token, reason] of [
      [direct2, 'kid_unknown'],
      [foreign.sign(), 'kid_unknown'],
      [kidless, 'kid_missing'],
    ]) {
      const check = await browser.send('POST', tokenChecksUrl, { token })
      expect(check.json().reason).toBe(reason)
      for (const kid of [direct, foreign.kid]) {
        const [, claims = ''] = /"steps":(\[.*?\])/.exec(check.body) ?? []
        expect(claims).not.toContain(kid)
      }
    }
    for (const twin of [publicKeyPem, foreign.publicKeyPem]) {
      const duplicate = await browser.send('POST', keysUrl, keyBody(twin))
      expect([duplicate.statusCode, duplicate.json().code]).toEqual([409, 'duplicate_key'])
      for (const kid of [direct, foreign.kid]) expect(duplicate.body).not.toContain(kid)
    }
    const at = new Date(server.clock.now()).toISOString()
    await patchKey(server, direct, { active: false })
    await server.send('DELETE', `${keysUrl}/${direct}`)
    const past = await browser.send('POST', tokenChecksUrl, { token: direct2, at })
    expect(past.json().reason).toBe('kid_unknown')
    expect(past.json().steps.at(-1).detail).not.toMatch(/deleted at|thumbprint/)
  })

  test('makes no key active, and takes no kid from others, if the link does not permit it', async () => {
    const browser = await newBrowser(server)
    const body = { ...keyBody(), active: true, publishedKid: 'orders-1', expireTime: '2020-01-01' }
    const answer = await browser.send('POST', keysUrl, body)
    expect(answer.statusCode).toBe(400)
    expect(answer.json().errors).toMatchObject([
      { pointer: '/expireTime', code: 'time_invalid' },
      { pointer: '/active', code: 'link_forbids' },
      { pointer: '/publishedKid', code: 'link_forbids' },
    ])
    const { kid } = await bringKey(browser)
    expect((await browser.send('PATCH', `${keysUrl}/${kid}`, { active: true })).statusCode).toBe(
      403,
    )
    expect((await server.send('GET', `${keysUrl}/${kid}`)).json().active).toBe(false)
  })

  test('goes on when the same browser opens another link', async () => {
    const [one, two] = [await newBrowser(server), await newBrowser(server)]
    const cookie = `${two.cookie}; ${one.cookie}`
    for (const { headers, opened } of [one, two]) {
      const request = { url: `${sessionsUrl}/self`, headers: { ...headers, cookie } }
      expect((await server.inject(request)).json()).toEqual(opened.json())
    }
  })

  test('is not the session of a person, and its secrets are no API keys', async () => {
    const { secret } = await createLink(server)
    const { cookie, headers: own } = await openLink(server, secret)
    const [name = '', inCookie = ''] = cookie.split('=')
    for (const headers of [
      { 'x-api-key': server.admin },
      { 'x-api-key': secret },
      { 'x-api-key': inCookie },
      { 'x-api-key': 'session', cookie },
      { 'x-api-key': 'session', cookie: `__Secure-pubring-session=${inCookie}` },
      { ...own, cookie: `${name}=${secret}` },
      { 'x-api-key': own['x-api-key'] },
      { 'x-api-key': `registration:${newId()}`, cookie },
      { 'x-api-key': 'registration', cookie },
    ]) {
      const answer = await server.inject({ method: 'GET', url: `${sessionsUrl}/self`, headers })
      expect(answer.statusCode).toBe(401)
    }
  })

  test('records ten private keys a minute, and blocks all that it sends', async () => {
    const [one, other] = [await newBrowser(server), await newBrowser(server)]
    const { revision } = await payments()
    const sent = Array.from({ length: 12 }, () => ecKey())
    for (const key of sent) {
      const answer = await one.send('POST', keysUrl, keyBody(privatePem(key)))
      expect(answer.json().code).toBe('private_key_submitted')
    }
    expect((await payments()).revision).toBe(revision + 10)
    const last = (await server.events()).at(-1)
    expect([last?.type, last?.actor.link?.id]).toEqual([
      'private_key.refused',
      one.opened.json().id,
    ])
    const blocked = await one.send('POST', keysUrl, keyBody(sent.at(-1)?.publicKeyPem))
    expect(blocked.json().code).toBe('compromised_key')
    await other.send('POST', keysUrl, keyBody(privatePem(ecKey())))
    server.clock.advance(60_000)
    await one.send('POST', keysUrl, keyBody(privatePem(ecKey())))
    expect((await payments()).revision).toBe(revision + 12)
  })

  test('brings five keys that nobody has activated, and leaves room for those of others', async () => {
    const browser = await newBrowser(server)
    const kids = []
    for (let count = 0; count < 5; count += 1) kids.push((await bringKey(browser)).kid)
    const full = await browser.send('POST', keysUrl, keyBody())
    expect(full.json()).toMatchObject({ status: 409, code: 'key_limit_reached', limit: 5 })
    expect(full.json().detail).toMatch(/registration link/)
    await patchKey(server, kids[0] ?? '', { active: true })
    await bringKey(browser)
    expect((await browser.send('POST', keysUrl, keyBody())).statusCode).toBe(409)
    await registerKey(server)
    await bringKey(await newBrowser(server))
  })

  test('brings five keys in all if they are active at once', async () => {
    const browser = await newBrowser(server, { newKeys: 'active' })
    for (let count = 0; count < 5; count += 1) await bringKey(browser)
    const full = await browser.send('POST', keysUrl, keyBody())
    expect(full.json()).toMatchObject({ code: 'key_limit_reached', limit: 5 })
  })

  test('learns neither who uses its key, nor which key a private key belongs to', async () => {
    const browser = await newBrowser(server)
    const own = await bringKey(browser)
    const { kid } = own
    const report = {
      reporter: 'inner-gateway',
      uses: [{ kid, lastTime: new Date(server.clock.now()).toISOString() }],
    }
    await server.send('POST', '/v1/projects/payments/key-uses', { body: report })
    const read = async (send: Browser['send']) => (await send('GET', `${keysUrl}/${kid}`)).json()
    expect((await read(server.send)).details.use.lastReporter).toBe('inner-gateway')
    const shown = await read(browser.send)
    expect(shown.id).toBe(kid)
    expect(shown.details).not.toHaveProperty('use')
    expect((await read(server.send)).details.use.lastReporter).toBe('inner-gateway')
    const key = ecKey()
    const foreign = await registerKey(server, { publicKeyPem: key.publicKeyPem })
    for (const [url, body] of [
      [keysUrl, keyBody(privatePem(key))],
      ['/v1/key-checks', { publicKeyPem: privatePem(key) }],
    ] as const) {
      const refused = await browser.send('POST', url, body)
      expect(refused.body).toContain('private_key_submitted')
      expect(refused.body).not.toContain(foreign)
    }
    const ownSent = await browser.send('POST', keysUrl, keyBody(privatePem(own)))
    expect(ownSent.json().detail).toContain(kid)
  })
})

describe('the end of a link ends its session with the next request:', () => {
  test.each<[string, (id: string) => unknown]>([
    ['expiry', () => server.clock.advance(7 * dayMs)],
    ['revocation', (id) => server.send('DELETE', `${linksUrl}/${id}`)],
  ])('%s', async (_how, end) => {
    const { id, secret } = await createLink(server)
    const browser = await openLink(server, secret)
    const { kid } = await bringKey(browser)
    await end(id)
    expect(await ended(browser)).toEqual(invalid)
    expect((await browser.send('GET', `${keysUrl}/${kid}`)).statusCode).toBe(401)
    await expectNotFound(secret, { cookie: browser.cookie })
    expect((await server.send('GET', `${keysUrl}/${kid}`)).statusCode).toBe(200)
  })

  test('the deletion of its project', async () => {
    await newProject(server, 'doomed')
    const browser = await newBrowser(server, {}, '/v1/projects/doomed/registration-links')
    await server.send('DELETE', '/v1/projects/doomed')
    expect(await ended(browser)).toEqual(invalid)
  })
})

test('a link of one project is not found in another', async () => {
  const { id } = await createLink(server)
  await newProject(server, 'elsewhere')
  for (const method of ['GET', 'DELETE'] as const) {
    const answer = await server.send(method, `/v1/projects/elsewhere/registration-links/${id}`)
    expect(answer.json().code).toBe('link_not_found')
  }
  expect((await server.send('GET', `${linksUrl}/${id}`)).json().state).toBe('open')
})

test('its secrets are in no log, no event, no list, and only as a digest in the database', async () => {
  const returnUrl = `${returnOrigin}/done`
  const { secret, id } = await createLink(server, { returnUrl })
  const browser = await openLink(server, secret)
  await expectNotFound(secret)
  await browser.send('GET', `${keysUrl}/${secret}`)
  await server.inject({ method: 'GET', url: `/register?secret=${secret}` })
  await server.inject({ method: 'POST', url: sessionsUrl, payload: `{"secret":"${secret}"` })
  const cookie = browser.cookie.split('=')[1] ?? ''
  const shown = [
    (await server.send('GET', linksUrl)).body,
    (await server.send('GET', `${linksUrl}/${id}`)).body,
    (await server.send('GET', '/v1/projects/payments/events?limit=200')).body,
    JSON.stringify(await server.events()),
    server.log(),
    await server.database.dump(),
  ]
  for (const text of shown) {
    for (const one of [secret, cookie]) expect(text).not.toContain(one.slice(8, 32))
  }
  expect(server.log()).toContain('registrationLinkId')
})
