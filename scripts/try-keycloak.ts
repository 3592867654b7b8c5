import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { launchBrowser } from '../test/support/console/console.ts'
import { freePort, startServer, temporaryFolder } from '../test/support/server/process.ts'

/**
 * `node scripts/try-keycloak.ts`: signs in through a real Keycloak with a real browser, and prints what
 * happened; fails if something else did. Needs Java 17, OpenSSL, curl and unzip. Keycloak (170 MB)
 * is loaded from Maven Central once, into KEYCLOAK_CACHE or the folder for temporary files.
 */
const version = '26.7.3'
const archive = `keycloak-quarkus-dist-${version}.zip`
const source = `https://repo1.maven.org/maven2/org/keycloak/keycloak-quarkus-dist/${version}/${archive}`
const cache = process.env.KEYCLOAK_CACHE ?? join(tmpdir(), 'pubring-keycloak')
const home = join(cache, `keycloak-${version}`)

const admin = { name: 'admin', password: 'trial-admin' }
const ada = { name: 'ada', password: 'trial-ada' }
const clientSecret = 'dR7wq0VxK3bTn5LmZ8sYc2HfJ6gPa9Ue'
const realm = 'trial'

function load(): void {
  if (existsSync(home)) return
  mkdirSync(cache, { recursive: true })
  run('curl', ['-sSfL', '-o', join(cache, archive), source])
  run('unzip', ['-q', '-d', cache, join(cache, archive)])
}

/** Returns the output; throws with that for errors if the command fails. */
function run(command: string, args: string[], cwd?: string): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** `ca.pem` and, issued by it for localhost, `server.pem` with `server.key`. */
function createCertificates(folder: string): void {
  const openssl = (text: string) => run('openssl', text.split(' '), folder)
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc'
  openssl(`req -x509 ${key} -days 30 -subj /CN=Trial -keyout ca.key -out ca.pem`)
  openssl(`req ${key} -subj /CN=localhost -keyout server.key -out server.csr`)
  writeFileSync(join(folder, 'san'), 'subjectAltName=DNS:localhost\n')
  openssl('x509 -req -in server.csr -CA ca.pem -CAkey ca.key -days 30 -extfile san -out server.pem')
}

interface Keycloak {
  issuer: string
  /** Runs kcadm.sh, the administration on the command line. */
  administer(...args: string[]): string
  stop(): Promise<void>
}

async function startKeycloak(folder: string): Promise<Keycloak> {
  const [httpsPort, httpPort, managementPort] = [
    await freePort(),
    await freePort(),
    await freePort(),
  ]
  const url = `https://localhost:${httpsPort}`
  const args = [
    `--hostname=${url}`,
    `--https-port=${httpsPort}`,
    // For kcadm.sh alone, which would need a trust store.
    `--http-port=${httpPort}`,
    `--http-management-port=${managementPort}`,
    `--https-certificate-file=${join(folder, 'server.pem')}`,
    `--https-certificate-key-file=${join(folder, 'server.key')}`,
    '--db=dev-mem',
  ]
  const child = spawn(join(home, 'bin/kc.sh'), ['start-dev', ...args], {
    env: {
      ...process.env,
      JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx512m',
      KC_BOOTSTRAP_ADMIN_USERNAME: admin.name,
      KC_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.once('exit', () => child.kill())
  await listening(child)
  const settings = ['--config', join(folder, 'kcadm.config')]
  const administer = (...rest: string[]) => run(join(home, 'bin/kcadm.sh'), [...rest, ...settings])
  const server = ['--server', `http://localhost:${httpPort}`, '--realm', 'master']
  const credentials = ['--user', admin.name, '--password', admin.password]
  administer('config', 'credentials', ...server, ...credentials)
  return {
    issuer: `${url}/realms/${realm}`,
    administer,
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill()
      await ended
    },
  }
}

function listening(child: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let output = ''
  child.stdout?.on('data', (chunk) => {
    output += String(chunk)
    if (/Listening on:/.test(output)) resolve()
  })
  child.once('exit', () => reject(new Error(output)))
  return promise
}

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
  load()
  const files = mkdtempSync(join(tmpdir(), 'pubring-keycloak-'))
  createCertificates(files)
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
