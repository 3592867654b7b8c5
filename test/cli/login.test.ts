import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readVersion } from '../../packages/server/src/runtime/version.ts'
import { publicUrl } from '../support/app/app.ts'
import { createBrowser } from '../support/sign-in/browser.ts'
import { clientId, clientSecret, startProvider } from '../support/sign-in/provider.ts'
import { type Call, documentOf, startShell } from './support.ts'

const unset = { PUBRING_URL: undefined, PUBRING_API_KEY: undefined, PUBRING_PROJECT: undefined }
const cookieName = '__Secure-pubring-session'

let offset = 0
const config = () => join(shell.folder, '.config/pubring/config.json')
const profile = () => JSON.parse(readFileSync(config(), 'utf8')).profiles.default
const bare = (args: string[], call: Call = {}) =>
  shell.pubring(args, { ...call, env: { ...unset, USER: 'ada', ...call.env } })
const whoami = () => bare(['whoami', '--json'])

const provider = await startProvider(`${publicUrl}/sign-in/callback`)
provider.person.claims = { name: 'Ada Lovelace' }
const { issuer } = provider
const scopes = 'openid profile email groups'
const shell = await startShell({
  fetch: provider.server.fetchWith(),
  clock: { now: () => Date.now() + offset, monotonic: () => performance.now() },
  config: { oidc: { issuer, clientId, clientSecret, scopes } },
})
const rule = { for: 'people', name: 'n', conditions: { sub: 'ada' }, role: 'admin' }
const body = { ...rule, allProjects: true }
await shell.test.send('POST', '/v1/access-rules', { body })

/** Opens the address that `pubring login` prints, as a browser does, and returns the answer of loopback. */
async function approve(address: string) {
  const browser = createBrowser(provider, shell.test)
  const { pathname, search } = new URL(address)
  const page = pathname.endsWith('/cli')
    ? await browser.signIn(new URL(String((await browser.visit(address)).headers.location)).search)
    : await browser.signIn(search)
  const { searchParams } = new URL(String(page.headers.location))
  const secret = browser.cookies.get(new URL(publicUrl).host)?.get(cookieName)
  const answer = await shell.test.send('POST', '/sign-in/cli', {
    body: Object.fromEntries(searchParams),
    headers: { 'x-api-key': 'session', cookie: `${cookieName}=${secret}` },
  })
  const url = new URL(answer.json().url)
  const forged = await fetch(`${url.origin}/?code=x&state=x`)
  expect(forged.status).toBe(404)
  const answered = await fetch(url)
  expect([answered.status, await answered.text()]).toEqual([200, expect.stringMatching(/close/)])
}

const login = (...flags: string[]) => signIn('--url', shell.url, ...flags)

async function signIn(...flags: string[]) {
  let approved: Promise<void> | undefined
  const controller = new AbortController()
  const ran = await bare(['login', '--no-browser', ...flags], {
    // The command would wait for a browser that failed.
    signal: controller.signal,
    onStderr(text) {
      const [address] = /https:\S+\n/.exec(text) ?? []
      if (address !== undefined) approved ??= approve(address.trim())
      void approved?.catch(() => controller.abort())
    },
  })
  await approved
  return ran
}

describe('login through the browser', () => {
  test('signs in, and keeps the secrets in a file that only its owner can read', async () => {
    const agents = new Set<string | undefined>()
    const { server } = shell.test.app
    const note = ({ headers, url }: IncomingMessage) =>
      url?.endsWith('/session-keys') && agents.add(headers['user-agent'])
    server.on('request', note)
    const ran = await login()
    server.off('request', note)
    expect([...agents]).toEqual([`pubring/${readVersion()}`])
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: '' })
    expect(ran.stderr).toMatch(/“Ada Lovelace” \(admin\) at http.* is profile default/)
    expect(statSync(config()).mode & 0o777).toBe(0o600)
    expect(Object.keys(profile())).toEqual(['url', 'apiKey', 'renewTime', 'renewalSecret'])
    const self = documentOf(await whoami())
    expect(self).toMatchObject({ type: 'person', name: 'Ada Lovelace' })
    expect((await bare(['whoami'])).stdout).toMatch(/^Ada Lovelace \(admin\)\n$/)
    expect((await bare(['project', 'create', 'by-ada'])).code).toBe(0)
    const events = (await shell.test.send('GET', '/v1/projects/by-ada/events')).json()
    expect(events[0].actor).toMatchObject({ name: 'Ada Lovelace', user: { subject: 'ada' } })
  })

  test('renews the API key silently, and two processes at once keep the profile', async () => {
    const before = profile()
    offset = 14.5 * 60_000
    const due = { ...before, renewTime: new Date(Date.now() - 1).toISOString() }
    const others = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`p${index}`, { url: `http://p${index}.example` }]),
    )
    const content = { profiles: { default: due, ...others } }
    writeFileSync(config(), JSON.stringify(content))
    chmodSync(config(), 0o600)
    offset = 16 * 60_000
    const ran = await Promise.all([whoami(), whoami(), bare(['project', 'list'])])
    expect(ran.map(({ code }) => code)).toEqual([0, 0, 0])
    expect(ran.map(({ stderr }) => stderr).join('')).toBe('')
    const { profiles } = JSON.parse(readFileSync(config(), 'utf8'))
    expect(Object.keys(profiles)).toEqual(['default', ...Object.keys(others)])
    expect(profiles.default).toMatchObject({ url: shell.url, renewalSecret: before.renewalSecret })
    expect(profiles.default.apiKey).not.toBe(before.apiKey)
    expect(profiles.default.renewTime > new Date().toISOString()).toBe(true)
    expect(statSync(config()).mode & 0o777).toBe(0o600)
    offset = 0
  })

  test('what needs a recent sign-in names the command, after which it succeeds', async () => {
    await login()
    const due = { ...profile(), renewTime: new Date(Date.now() - 1).toISOString() }
    writeFileSync(config(), JSON.stringify({ profiles: { default: due } }))
    offset = 16 * 60_000
    provider.person.sinceMs = Date.now() + offset
    const remove = () => bare(['project', 'delete', 'by-ada', '--yes'])
    const refused = await remove()
    const hint = 'hint: To sign in again: pubring login --recent\n'
    expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining(hint)])
    const again = await signIn('--recent')
    expect(again.code, again.stderr).toBe(0)
    expect(again.stderr).toMatch(/\/sign-in\?recent=true&return=/)
    expect(documentOf(await whoami())).toHaveProperty('recentSignInUntil')
    expect(await remove()).toMatchObject({ code: 0, stderr: expect.stringContaining('by-ada') })
    delete provider.person.sinceMs
    offset = 0
  })

  test('an ended session says what to do', async () => {
    const { person } = Object(documentOf(await whoami()))
    await shell.test.send('DELETE', `/v1/sessions?person=${person.id}`)
    const ran = await bare(['whoami'])
    expect(ran.code).toBe(4)
    expect(ran.stderr).toContain('hint: To sign in again: pubring login\n')
    // It goes to the server of the profile.
    expect((await signIn()).stderr).toContain(`at ${shell.url} is profile default`)
  })

  test('logout ends the session and removes the profile', async () => {
    await login()
    const { apiKey } = profile()
    const ran = await bare(['logout'])
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringMatching(/The session has ended/)])
    expect(profile()).toBeUndefined()
    const headers = { 'x-api-key': apiKey }
    expect((await shell.test.send('GET', '/v1/self', { headers })).statusCode).toBe(401)
    expect((await whoami()).code).toBe(4)
  })

  test('logout works after the session has ended, and forgets an API key', async () => {
    await login()
    const headers = { 'x-api-key': profile().apiKey }
    await shell.test.send('DELETE', '/v1/sessions/self', { headers })
    expect((await bare(['logout'])).code).toBe(0)
    const file = shell.file('admin.key', shell.test.admin)
    await bare(['login', '--url', shell.url, '--api-key-file', file])
    expect(documentOf(await whoami())).toMatchObject({ type: 'api_key', name: 'a admin' })
    expect((await bare(['logout'])).stderr).toMatch(/still valid/)
    expect(profile()).toBeUndefined()
  })

  test('Ctrl-C stops waiting', async () => {
    const controller = new AbortController()
    const ran = await bare(['login', '--url', shell.url, '--no-browser'], {
      signal: controller.signal,
      onStderr: () => controller.abort(),
    })
    expect(ran.stderr).toMatch(/Interrupted/)
  })
})
