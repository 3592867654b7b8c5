import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { launchBrowser } from '../test/support/console/console.ts'
import { freePort, startServer, temporaryFolder } from '../test/support/server/process.ts'
import { type Keycloak, realm, startKeycloak } from './keycloak.ts'

/**
 * `node scripts/try-keycloak.ts`: signs in through a real Keycloak with a real browser, and prints what
 * happened; fails if something else did. Needs what `keycloak.ts` names.
 */

const ada = { name: 'ada', password: 'trial-ada' }
const clientSecret = 'dR7wq0VxK3bTn5LmZ8sYc2HfJ6gPa9Ue'

/** The fields are those of docs/sign-in.md. */
const realmWith = (publicUrl: string) => ({
  realm,
  enabled: true,
  groups: [{ name: 'platform' }],
  users: [
    {
      username: ada.name,
      enabled: true,
      firstName: 'Ada',
      lastName: 'Lovelace',
      email: 'ada@example.com',
      emailVerified: true,
      groups: ['/platform'],
      credentials: [{ type: 'password', value: ada.password }],
    },
  ],
  clients: [
    {
      clientId: 'pubring',
      secret: clientSecret,
      standardFlowEnabled: true,
      directAccessGrantsEnabled: false,
      redirectUris: [`${publicUrl}/sign-in/callback`],
      attributes: {
        'post.logout.redirect.uris': `${publicUrl}/console/`,
        'backchannel.logout.url': `${publicUrl}/sign-in/back-channel-logout`,
        'backchannel.logout.session.required': 'true',
      },
      protocolMappers: [
        {
          name: 'groups',
          protocol: 'openid-connect',
          protocolMapper: 'oidc-group-membership-mapper',
          config: { 'claim.name': 'groups', 'full.path': 'false', 'id.token.claim': 'true' },
        },
      ],
    },
  ],
})

/** Prints what was seen; throws unless it is what was expected. */
function report(what: string, seen: unknown, expected: unknown): void {
  const [left, right] = [JSON.stringify(seen), JSON.stringify(expected)]
  process.stdout.write(`${what}: ${left}\n`)
  if (left !== right) throw new Error(`expected ${right}`)
}

/** Opens `/sign-in`, and fills in the form of Keycloak, which must be shown. */
async function signIn(page: Page, url: string, query = ''): Promise<void> {
  await page.goto(`${url}/sign-in${query}`)
  const userName = page.locator('#username')
  // Who proves again who they are need not say it.
  if (await userName.isVisible()) await userName.fill(ada.name)
  await page.locator('#password').fill(ada.password)
  await page.locator('#kc-login').click()
  await page.waitForURL(`${url}/console/**`)
}

interface Answer {
  status: number
  body: Record<string, never> & Record<string, unknown>
}

/** Sends a request from the page, with its session. */
function send(page: Page, method: string, path: string, body?: object): Promise<Answer> {
  const init = {
    method,
    headers: { 'x-api-key': 'session', 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  }
  const call = `fetch(${JSON.stringify(path)}, ${JSON.stringify(init)})`
  return page.evaluate(`${call}.then(async (answer) => {
    return { status: answer.status, body: await answer.json().catch(() => null) }
  })`)
}

async function tryAll(page: Page, url: string, apiKey: string, keycloak: Keycloak): Promise<void> {
  const asAdmin = async (method: string, path: string, body?: object) => {
    const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const answer = await fetch(`${url}${path}`, init)
    return JSON.parse(await answer.text())
  }
  const statusOf = async () => (await send(page, 'GET', '/v1/self')).status
  const conditions = { groups: 'platform' }
  const members = { for: 'people', name: 'p', conditions, role: 'admin', allProjects: true }
  const rule = await asAdmin('POST', '/v1/access-rules', members)

  await signIn(page, url)
  const { body: self } = await send(page, 'GET', '/v1/self')
  report(
    'signed in as',
    [self.type, self.name, self.grants],
    ['person', 'Ada Lovelace', [{ role: 'admin' }]],
  )
  report('counts as recent', typeof self.recentSignInUntil, 'string')
  await delay(2_000)
  await signIn(page, url, '?recent=true')
  const { body: again } = await send(page, 'GET', '/v1/self')
  const isLater = String(again.recentSignInUntil) > String(self.recentSignInUntil)
  report('later after the password was asked for again', isLater, true)

  const made = await send(page, 'POST', '/v1/projects', { name: 'by-ada' })
  const [event] = await asAdmin('GET', '/v1/projects/by-ada/events')
  report(
    'made a project',
    [made.status, event.type, event.actor.name],
    [201, 'project.created', 'Ada Lovelace'],
  )

  await asAdmin('PATCH', `/v1/access-rules/${rule.id}`, { active: false })
  report('after the rule was deactivated', await statusOf(), 401)
  await asAdmin('PATCH', `/v1/access-rules/${rule.id}`, { active: true })
  report('after it was activated', await statusOf(), 200)

  const { body: signedOut } = await send(page, 'DELETE', '/v1/sessions/self')
  await page.goto(String(signedOut.signOutUrl))
  await page.locator('#kc-logout').click()
  await page.waitForURL(`${url}/console/`)
  report('after signing out, here and at Keycloak', await statusOf(), 401)

  await signIn(page, url)
  report('after signing in again', await statusOf(), 200)
  const [user] = JSON.parse(keycloak.administer('get', 'users', '-r', realm, '-q', 'username=ada'))
  keycloak.administer('create', `users/${user.id}/logout`, '-r', realm, '-s', `user=${user.id}`)
  report('after an administrator of Keycloak signed them out', await statusOf(), 401)
  const events = await asAdmin('GET', '/v1/events?limit=200')
  const { type, actor, changes } = events.at(-1)
  report(
    'the event of that',
    [type, actor.name, changes.reason.to],
    ['session.ended', 'OpenID provider', 'provider_logout'],
  )
}

async function main(): Promise<void> {
  const files = mkdtempSync(join(tmpdir(), 'pubring-keycloak-'))
  const keycloak = await startKeycloak(files)
  const port = await freePort()
  const url = `http://localhost:${port}`
  writeFileSync(join(files, 'realm.json'), JSON.stringify(realmWith(url)))
  keycloak.administer('create', 'realms', '-f', join(files, 'realm.json'))
  const { folder, remove } = temporaryFolder()
  const server = await startServer(folder, {
    PUBRING_PORT: String(port),
    PUBRING_PUBLIC_URL: url,
    PUBRING_OIDC_ISSUER: keycloak.issuer,
    PUBRING_OIDC_CLIENT_ID: 'pubring',
    PUBRING_OIDC_CLIENT_SECRET: clientSecret,
    PUBRING_OUTBOUND_ALLOW: 'localhost',
    PUBRING_OUTBOUND_CA_FILE: join(files, 'ca.pem'),
  })
  const browser = await launchBrowser()
  const page = await browser.newPage({ ignoreHTTPSErrors: true })
  try {
    await tryAll(page, url, server.apiKey, keycloak)
  } catch (error) {
    process.stdout.write(`${page.url()}\n${await page.textContent('body')}\n${server.output()}\n`)
    throw error
  } finally {
    await browser.close()
    server.signal('SIGTERM')
    await server.ended
    await keycloak.stop()
    rmSync(files, { recursive: true })
  }
  remove()
}

await main()
