import { expect, test } from 'vitest'
import { publicUrl } from '../../support/app/app.ts'
import { startKeyChanges } from '../../support/app/key-changes.ts'
import { keysUrl, registerKey } from '../../support/app/keys.ts'
import {
  createLink,
  exchange,
  linksUrl,
  openLink,
  sessionsUrl,
} from '../../support/app/registration-links.ts'
import { ecKey } from '../../support/keys/pem.ts'
import { signToken } from '../../support/keys/tokens.ts'

const server = await startKeyChanges()

test('a stranger registers a key through a link, and it waits for approval', async () => {
  const link = await createLink(server, { note: 'ACME Corp, orders API' })
  const browser = await openLink(server, link.secret)
  const { id: projectId, name } = server.project
  expect(browser.opened.json()).toEqual({
    project: { id: projectId, name },
    issuer: `${publicUrl}/v1/projects/${projectId}`,
    note: 'ACME Corp, orders API',
    newKeys: 'inactive',
    algorithms: expect.arrayContaining(['ES256']),
    expireTime: expect.any(String),
    keys: [],
  })
  const { publicKeyPem, privateKey } = ecKey()
  const body = { name: 'orders', algorithm: 'ES256', publicKeyPem }
  const created = await browser.send('POST', keysUrl, body)
  expect(created.statusCode, created.body).toBe(201)
  const { kid } = created.json()
  const key = (await browser.send('GET', `${keysUrl}/${kid}`)).json()
  expect(key).toMatchObject({ active: false, details: { introducedBy: `link:${link.id}` } })
  const { issuer: iss } = browser.opened.json()
  const token = signToken(privateKey, { alg: 'ES256', kid }, { iss, exp: 9_999_999_999 })
  const check = await browser.send('POST', `/v1/projects/${name}/token-checks`, { token })
  expect(check.json()).toMatchObject({ valid: true, key: { active: false } })
  const step = { step: 'key_active', outcome: 'warned', detail: expect.stringMatching(/waits/) }
  expect(check.json().steps).toContainEqual(step)
  const session = await browser.send('GET', `${sessionsUrl}/self`)
  expect(session.json()).toEqual({ ...browser.opened.json(), keys: [kid] })
  const { url: _url, secret: _secret, ...shown } = link
  const read = await server.send('GET', `${linksUrl}/${link.id}`)
  const openTime = expect.any(String)
  expect(read.json()).toEqual({ ...shown, state: 'used', openTime, keys: [kid] })
  expect(await registerKey(server)).not.toBe(kid)
  expect((await exchange(server, link.secret)).json().code).toBe('link_not_found')
})
