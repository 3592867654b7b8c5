import { expect, test } from 'vitest'
import { publicUrl } from '../../support/app/app.ts'
import { keysUrl, newProject, patchKey } from '../../support/app/keys.ts'
import {
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
import { ecKey } from '../../support/keys/pem.ts'

const server = await startLinks()

test('a stranger registers a key through a link, proves to have it, and it waits for approval', async () => {
  const note = 'ACME Corp, orders API'
  const { url: _url, secret, ...created } = await createLink(server, { note })
  expect(created).toMatchObject({ state: 'open', newKeys: 'inactive', keys: [] })
  const browser = await openLink(server, secret)
  const { id: projectId, name } = server.project
  const used = { ...created, state: 'used' }
  const session = {
    ...used,
    project: { id: projectId, name },
    issuer: `${publicUrl}/v1/projects/${projectId}`,
    algorithms: expect.arrayContaining(['ES256']),
  }
  expect(browser.opened.json()).toEqual(session)
  const { kid, sign } = await bringKey(browser)
  const key = (await browser.send('GET', `${keysUrl}/${kid}`)).json()
  expect(key).toMatchObject({ active: false, details: { introducedBy: `link:${created.id}` } })
  const check = await browser.send('POST', tokenChecksUrl, { token: sign() })
  expect(check.json()).toMatchObject({ valid: true, key: { active: false } })
  const step = { step: 'key_active', outcome: 'warned', detail: expect.stringMatching(/waits/) }
  expect(check.json().steps).toContainEqual(step)
  await browser.send('POST', tokenChecksUrl, { token: sign() })
  const again = await browser.send('GET', `${sessionsUrl}/self`)
  expect(again.json()).toEqual({ ...session, keys: [kid] })
  const read = await server.send('GET', `${linksUrl}/${created.id}`)
  expect(read.json()).toEqual({ ...used, keys: [kid] })
  expect((await server.send('GET', linksUrl)).json()).toContainEqual(read.json())
  const events = await server.events()
  const { actor } = events.find(({ type }) => type === 'registration_link.created') ?? {}
  expect(actor).toEqual({ name: 'a admin', apiKeyId: expect.any(String) })
  const by = { name: note, link: { id: created.id, createdBy: { apiKeyId: actor?.apiKeyId } } }
  const byLink = events.filter((event) => event.actor.link !== undefined)
  // The second valid token of a key has no event.
  expect(byLink.map((event) => [event.type, event.actor, event.subject.id])).toEqual([
    ['registration_link.opened', by, created.id],
    ['key.created', by, kid],
    ['registration_link.token_checked', by, created.id],
  ])
  expect(byLink.at(-1)?.changes?.kid).toEqual({ to: kid })
})

test('a key that waits for approval is in warnings until somebody activates it', async () => {
  const { kid } = await bringKey(await newBrowser(server))
  const waiting = async () => {
    const warnings: { code: string; kid?: string }[] = (
      await server.send('GET', '/v1/warnings')
    ).json()
    return warnings.filter((one) => one.kid === kid).map(({ code }) => code)
  }
  expect(await waiting()).toEqual(['key_awaits_approval'])
  // Nobody vouched for it, so nothing warns that a voucher has ended either.
  for (const active of [true, false]) {
    await patchKey(server, kid, { active })
    expect(await waiting()).toEqual([])
  }
})

test('a link may let keys be active at once, accept some algorithms only, and lead back', async () => {
  const returnUrl = `${returnOrigin}/done?customer=7`
  const terms = { newKeys: 'active', algorithms: ['ES384', 'ES256'], returnUrl }
  const browser = await newBrowser(server, terms)
  expect(browser.opened.json()).toMatchObject({ returnUrl, algorithms: ['ES256', 'ES384'] })
  const { kid, sign } = await bringKey(browser)
  expect((await browser.send('GET', `${keysUrl}/${kid}`)).json().active).toBe(true)
  const check = await browser.send('POST', tokenChecksUrl, { token: sign() })
  expect(check.json().steps).toContainEqual(
    expect.objectContaining({ step: 'key_active', outcome: 'passed' }),
  )
  const body = { ...keyBody(ecKey('P-521').publicKeyPem), algorithm: 'ES512' }
  const refused = await browser.send('POST', keysUrl, body)
  expect(refused.json().errors).toMatchObject([
    { pointer: '/algorithm', code: 'algorithm_not_allowed' },
  ])
})

test.each([
  [{ note: undefined }, '/note', 'required'],
  [{ note: ' ' }, '/note', 'too_short'],
  [{ expireTime: '2020-01-01T00:00:00Z' }, '/expireTime', 'time_past'],
  [{ expireTime: '2099-01-01T00:00:00Z' }, '/expireTime', 'too_late'],
  [{ newKeys: 'on' }, '/newKeys', 'unknown_value'],
  [{ algorithms: ['RSA'] }, '/algorithms/0', 'unknown_value'],
  [{ algorithms: ['ES256', 'ES256'] }, '/algorithms', 'invalid'],
  [{ returnUrl: 'https://evil.example/' }, '/returnUrl', 'address_invalid'],
  [{ returnUrl: `${returnOrigin}.evil.example/` }, '/returnUrl', 'address_invalid'],
  [{ returnUrl: `https://user@platform.example.com/` }, '/returnUrl', 'address_invalid'],
  [{ returnUrl: `${returnOrigin}@evil.example/` }, '/returnUrl', 'address_invalid'],
  [{ returnUrl: `${returnOrigin}/${'x'.repeat(2_000)}` }, '/returnUrl', 'address_invalid'],
  [{ returnUrl: 'javascript:alert(1)' }, '/returnUrl', 'address_invalid'],
  [{ returnUrl: '//platform.example.com/' }, '/returnUrl', 'address_invalid'],
  [{ returnUrl: 'http://platform.example.com/' }, '/returnUrl', 'address_invalid'],
])('a link with %j is refused', async (members, pointer, code) => {
  const answer = await server.send('POST', linksUrl, { body: { note: 'ACME', ...members } })
  expect(answer.statusCode, answer.body).toBe(400)
  expect(answer.json().errors).toMatchObject([{ pointer, code }])
})

test('the states of links that end', async () => {
  const opened = await createLink(server)
  await openLink(server, opened.secret)
  const open = await createLink(server)
  const expireTime = new Date(server.clock.now() + dayMs).toISOString()
  const short = await createLink(server, { expireTime })
  const revoked = await createLink(server)
  expect((await server.send('DELETE', `${linksUrl}/${revoked.id}`)).statusCode).toBe(204)
  server.clock.advance(2 * dayMs)
  // Ended links stay as they are, so a repeated deletion changes nothing.
  for (const { id } of [revoked, short]) {
    expect((await server.send('DELETE', `${linksUrl}/${id}`)).statusCode).toBe(204)
  }
  const links: { id: string; state: string }[] = (await server.send('GET', linksUrl)).json()
  const stateOf = ({ id }: { id: string }) => links.find((one) => one.id === id)?.state
  expect([opened, open, short, revoked].map(stateOf)).toEqual([
    'used',
    'open',
    'expired',
    'revoked',
  ])
})

test('the notes are erased with the project, whose ledger keeps the rest', async () => {
  const { name } = await newProject(server, 'short-lived')
  const url = `/v1/projects/${name}/registration-links`
  const note = 'Erika Mustermann'
  const { secret } = await createLink(server, { note }, url)
  await server.send('DELETE', `/v1/projects/${name}`)
  const query = 'select note from registration_link where note = ?'
  expect(await server.database.query(query, note)).toEqual([])
  expect((await exchange(server, secret)).json().code).toBe('link_not_found')
})
