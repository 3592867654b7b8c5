import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient, summarizeUse } from '@pubring/client'
import { expect, test } from 'vitest'
import { projectKeySet } from '../../packages/client/src/verify.ts'
import { openShell } from '../cli/support.ts'
import { verifyResult } from '../support/app/key-set.ts'
import { hourMs, minuteMs, startKeyUses, type UsedKey } from '../support/app/key-uses.ts'
import { registerKey } from '../support/app/keys.ts'
import { startInstalled } from '../support/installed-program.ts'
import { ecKey, type TestKey } from '../support/keys/pem.ts'
import { signToken } from '../support/keys/tokens.ts'
import { freePort } from '../support/server/process.ts'
import { waitUntil } from '../support/waiting.ts'

const server = await startKeyUses({ config: { jwksMaxAge: 0 } })
const url = await server.listen()
const reader = await server.apiKey('reader')
const shell = openShell(() => ({ PUBRING_URL: url, PUBRING_API_KEY: reader }))
const client = createClient({ url, apiKey: await server.apiKey('reader') })

const textOf = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8')

/** The configuration of the gateway in docs/key-uses.md. */
const documented = (gateway: string) =>
  textOf('docs/key-uses.md').split(`\n**${gateway}**`)[1]?.split('\n```\n')[1] ?? ''

interface Signer extends UsedKey {
  key: TestKey
}

/** Two keys of a project, of which the second is to replace the first. */
async function twoKeys(): Promise<[old: Signer, next: Signer]> {
  const project = await server.usedKey()
  const signer = async (): Promise<Signer> => {
    const key = ecKey()
    const { publicKeyPem } = key
    return { ...project, key, kid: await registerKey(server, { publicKeyPem }, project.keys) }
  }
  await server.send('PATCH', `${project.keys}/${project.kid}`, { body: { active: false } })
  return [await signer(), await signer()]
}

const issuerOf = ({ id }: UsedKey) => `${url}/v1/projects/${id}`

/** A token of the signer that ends this many milliseconds from now. */
function tokenOf({ key, kid, ...used }: Signer, ms: number): string {
  const exp = Math.floor((server.clock.now() + ms) / 1_000)
  const claims = { iss: issuerOf({ kid, ...used }), aud: 'orders', exp }
  return signToken(key.privateKey, { alg: 'ES256', kid }, claims)
}

interface Gateway {
  accepts(token: string): Promise<boolean>
  /** What it has logged since the last time. */
  log(): string
}

async function startGateway(
  program: string,
  args: string[],
  files: Record<string, string>,
  { port, logFile }: { port: number; logFile?: string },
): Promise<Gateway> {
  const get = (token: string) =>
    fetch(`http://127.0.0.1:${port}/`, { headers: { authorization: `Bearer ${token}` } })
  const running = await startInstalled(
    program,
    args,
    files,
    async () => (await get('')).ok === false,
  )
  const written = () => (logFile === undefined ? running.errors() : readFileSync(logFile, 'utf8'))
  let read = written().length
  return {
    accepts: async (token) => (await get(token)).ok,
    log() {
      const text = written().slice(read)
      read += text.length
      return text
    },
  }
}

async function startHaproxy({ id }: UsedKey): Promise<Gateway> {
  const port = await freePort()
  const keys = join(shell.folder, 'keys.cfg')
  const follow = ['jwks', 'follow', id, '--format', 'haproxy', '--out', keys, '--once']
  const { code, stderr } = await shell.pubring(follow)
  expect(code, stderr).toBe(0)
  const rules = [
    "http-request set-var(txn.exp) http_auth_bearer,jwt_payload_query('$.exp','int')",
    'http-request deny deny_status 401 unless { var(txn.pubring_verified) -m int 1 }',
    documented('HAProxy'),
    'log stderr len 2048 format raw local0',
    'http-request return status 200',
  ].join('\n')
  const gateway = `frontend api from pubring-${id}\ntimeout client 30s\nbind 127.0.0.1:${port}\n${rules}\n`
  return startGateway(
    'haproxy',
    ['-db', '-f', keys, '-f', 'gateway.cfg'],
    { 'gateway.cfg': gateway },
    { port },
  )
}

/** Whether the server says of the key what is true. */
async function expectUse(used: Signer, verdict: string, members: object = {}): Promise<void> {
  await waitUntil(async () => (await server.use(used)) !== undefined)
  const use = await server.use(used)
  expect({ ...use, verdict: summarizeUse(use, server.clock.now()).verdict }).toMatchObject({
    verdict,
    ...members,
  })
}

test('through a rotation behind HAProxy and a service, the verdict is the truth at each step', async () => {
  const [old, next] = await twoKeys()
  const gateway = await startHaproxy(old)
  const { name } = old
  /** A turn of an hour: tokens at both verifiers, whose reports follow. */
  async function hour(atGateway: string[], atService: string[] | 'silent'): Promise<void> {
    for (const token of atGateway) expect(await gateway.accepts(token)).toBe(true)
    expect(await gateway.accepts('forged')).toBe(false)
    const report = ['key-uses', 'report', '--as', 'edge', '--project', name]
    const ran = await shell.pubring(report, { input: gateway.log() })
    expect(ran.code, ran.stderr).toBe(0)
    if (atService !== 'silent') {
      const before = await reportTimeOf('orders-api')
      const keys = projectKeySet(issuerOf(old), { report: { as: 'orders-api', client } })
      await keys.ready()
      for (const token of atService) expect(await verifyResult(keys, token)).toBeTypeOf('object')
      keys.close()
      await waitUntil(async () => (await reportTimeOf('orders-api')) !== before)
    }
    server.clock.advance(hourMs)
  }
  async function reportTimeOf(reporter: string): Promise<string | undefined> {
    const all = await client.keyUses.reporters(name)
    return all.find((one) => one.reporter === reporter)?.reportTime
  }
  const lifetime = 1.5 * hourMs
  const fresh = (signer: Signer) => tokenOf(signer, lifetime)

  // Both accept tokens of the old key; nobody has seen one of the next key.
  await hour([fresh(old)], [fresh(old)])
  await expectUse(old, 'in_use', { reporters: 2, silent: 0 })
  await expectUse(next, 'unknown', { reporters: 2, silent: 0 })
  // The signer switches, and the service still gets a token of the old key.
  const last = fresh(old)
  const lastExp = server.timeIn(lifetime).slice(0, -4)
  await hour([fresh(next)], [last])
  await expectUse(next, 'in_use', { lastReporter: 'edge' })
  const seen = { lastReporter: 'orders-api', lastExp: expect.stringContaining(lastExp) }
  await expectUse(old, 'in_use', seen)
  // Its last token has ended, and both say that they see no other.
  await hour([fresh(next)], [fresh(next)])
  await expectUse(old, 'not_reported', { ...seen, reporters: 2, silent: 0 })
  // The service falls silent: what it sees is unknown, whatever the gateway says.
  for (const _hour of [1, 2, 3]) await hour([fresh(next)], 'silent')
  await expectUse(old, 'unknown', { ...seen, reporters: 1, silent: 1 })
  // It is back, and counts from now on: its first report says nothing of the hour after it.
  await hour([fresh(next)], [fresh(next)])
  await expectUse(old, 'unknown', { ...seen, reporters: 2, silent: 0 })
  await hour([fresh(next)], [fresh(next)])
  await expectUse(old, 'not_reported', { ...seen, reporters: 2, silent: 0 })
})

test('the log of nginx names the keys of the tokens that njs accepted, and no others', async () => {
  const [old, next] = await twoKeys()
  const port = await freePort()
  const logFile = join(shell.folder, 'nginx.log')
  const spki = (key: TestKey) => key.publicKeyPem.replace(/-----.*-----|\n/g, '')
  const listed = [old, next].map(({ key, kid }) => {
    return { issuer: issuerOf(old), kid, alg: 'ES256', spki: spki(key) }
  })
  const [log = '', location = ''] = documented('nginx').split(/# In the location.*\n/)
  const site = `server { listen 127.0.0.1:${port};
    location / { auth_request /verify; ${location} try_files /accepted =404; }
    location = /verify { internal; js_content main.verify; } }`
  const config = `load_module /usr/lib/nginx/modules/ngx_http_js_module.so;
    daemon off; pid nginx.pid; error_log /dev/null; events {}
    http { js_path .; js_import main.js; ${log.replace('keys.log', logFile)} root .; ${site} }`
  const main = `import verifying from './verify.js'
    const list = ${JSON.stringify(listed)}
    export default { verify: (request) => verifying.verify(request, Promise.resolve(list)) }`
  const files = {
    'nginx.conf': config,
    'main.js': main,
    'verify.js': textOf('examples/verifiers/nginx/verify.js')
      .replace('process.env.ISSUER', JSON.stringify(issuerOf(old)))
      .replace('process.env.AUDIENCE', JSON.stringify('orders')),
    accepted: 'accepted',
  }
  const gateway = await startGateway('nginx', ['-c', 'nginx.conf', '-p', '.'], files, {
    port,
    logFile,
  })
  expect(await gateway.accepts(tokenOf(old, hourMs))).toBe(true)
  expect(await gateway.accepts(`${tokenOf(next, hourMs)}x`)).toBe(false)
  server.clock.advance(minuteMs)
  const report = ['key-uses', 'report', '--as', 'edge', '--project', old.name]
  const ran = await shell.pubring(report, { input: gateway.log() })
  expect(ran.code, ran.stderr).toBe(0)
  await expectUse(old, 'in_use', { lastReporter: 'edge', lastExp: expect.any(String) })
  await expectUse(next, 'unknown')
  expect(await server.use(next)).not.toHaveProperty('lastTime')
})
