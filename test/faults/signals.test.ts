import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { newApiKeySecret } from '../../src/core/api-keys/secrets.ts'
import { recordFault } from '../support/faults/results.ts'
import { accepted } from '../support/keys/intake.ts'
import { rawConnection, requestHead } from '../support/network/raw-connection.ts'
import { rememberSecret } from '../support/secrets.ts'
import { createServerClient, freshPem } from '../support/server/client.ts'
import { workerPids } from '../support/server/command.ts'
import { type ServerProcess, startServer, temporaryFolder } from '../support/server/process.ts'

const { folder, remove } = temporaryFolder()
const file = (name: string) => join(folder, name)
const levelFile = file('log-level')
const blocklist = file('blocklist.dat')
const adminFile = file('admin')
const clientSecretFile = file('client-secret')
const wait = { timeout: 20_000, interval: 50 }

const adminSecret = rememberSecret('an API key', newApiKeySecret())

let server: ServerProcess
beforeAll(async () => {
  writeFileSync(levelFile, 'warn\n')
  writeFileSync(blocklist, '')
  writeFileSync(adminFile, `${adminSecret}\n`)
  writeFileSync(clientSecretFile, 'before\n')
  server = await startServer(folder, {
    PUBRING_WORKERS: '2',
    PUBRING_LOG_LEVEL_FILE: levelFile,
    PUBRING_BLOCKLIST: blocklist,
    PUBRING_ADMIN_API_KEY_FILE: adminFile,
    PUBRING_OIDC_ISSUER: 'https://id.example.com',
    PUBRING_OIDC_CLIENT_ID: 'pubring',
    PUBRING_OIDC_CLIENT_SECRET_FILE: clientSecretFile,
  })
  await vi.waitUntil(() => workerPids(server).length === 2, wait)
})
afterAll(async () => {
  server.signal('SIGKILL')
  await server.ended
  remove()
})

interface LogLine {
  pid: number
  msg: string
  changed?: string[]
  reason?: string
}

const logLines = (): LogLine[] =>
  server
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))

/** Sends SIGHUP to the parent and returns what each worker logs. */
async function reload(message: RegExp): Promise<LogLine[]> {
  const earlier = logLines().length
  server.signal('SIGHUP')
  const replies = () =>
    logLines()
      .slice(earlier)
      .filter(({ msg }) => message.test(msg))
  await vi.waitUntil(() => replies().length === 2, wait)
  expect(new Set(replies().map(({ pid }) => pid)).size).toBe(2)
  return replies()
}

const changesOf = (lines: LogLine[]) => lines.map(({ changed }) => changed)

test('SIGHUP re-reads log level, block list and secrets in every worker', async () => {
  expect(changesOf(await reload(/^settings re-read$/))).toEqual([[], []])

  const publicKeyPem = freshPem()
  const { materialSha256 } = accepted(publicKeyPem).key
  writeFileSync(blocklist, Buffer.from(`${materialSha256.slice(0, 30)}07`, 'hex'))
  writeFileSync(levelFile, 'info\n')
  const secret = rememberSecret('an API key', newApiKeySecret())
  writeFileSync(adminFile, `${secret}\n`)
  writeFileSync(clientSecretFile, 'after\n')
  const change = [
    'PUBRING_LOG_LEVEL_FILE info',
    'PUBRING_ADMIN_API_KEY_FILE',
    'PUBRING_OIDC_CLIENT_SECRET_FILE',
    `PUBRING_BLOCKLIST ${blocklist}`,
  ]
  expect(changesOf(await reload(/^settings re-read$/))).toEqual([change, change])

  const client = createServerClient(server, secret)
  for (let request = 0; request < 6; request += 1) {
    const check = await client.send('POST', '/v1/key-checks', { publicKeyPem })
    expect(check?.text).toContain('compromised_key')
  }
  const requests = () => logLines().filter(({ msg }) => msg === 'request').length
  await vi.waitUntil(() => requests() === 6, wait)
})

test('SIGHUP changes nothing if a file cannot be used, and logs why', async () => {
  writeFileSync(levelFile, 'loud\n')
  const [refused] = await reload(/^settings not re-read/)
  expect(refused?.reason).toMatch(/^PUBRING_LOG_LEVEL_FILE names a file whose first line must be/)
  writeFileSync(levelFile, 'warn\n')
  writeFileSync(blocklist, 'not a list')
  const [invalid] = await reload(/^settings not re-read/)
  expect(invalid?.reason).toMatch(/^The block list has 10 bytes/)
  rmSync(blocklist)
  const [unreadable] = await reload(/^settings not re-read/)
  expect(unreadable?.reason).toBe('PUBRING_BLOCKLIST names a file that does not exist.')
  writeFileSync(blocklist, '')
  const change = ['PUBRING_LOG_LEVEL_FILE warn', `PUBRING_BLOCKLIST ${blocklist}`]
  expect(changesOf(await reload(/^settings re-read$/))).toEqual([change, change])
})

test('SIGUSR1 and SIGUSR2 leave a request and its process alone; SIGQUIT completes it', async () => {
  const pids = workerPids(server)
  const { socket, waitFor } = rawConnection(server.url)
  const body = JSON.stringify({ publicKeyPem: freshPem() })
  const head = requestHead(
    'POST /v1/key-checks HTTP/1.1',
    'Host: x',
    'Content-Type: application/json',
    `X-Api-Key: ${adminSecret}`,
    `Content-Length: ${body.length}`,
  )
  socket.write(head + body.slice(0, 10))
  await delay(200)
  for (const pid of [server.pid, ...pids]) {
    for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.kill(pid, signal)
  }
  await delay(300)
  expect(workerPids(server)).toEqual(pids)
  expect(server.output()).not.toMatch(/Debugger/)
  server.signal('SIGQUIT')
  await delay(200)
  socket.write(body.slice(10))
  await waitFor(/HTTP\/1.1 200 /)
  expect(await server.ended).toBe(0)
  recordFault({
    fault: 'SIGHUP, SIGUSR1, SIGUSR2 and SIGQUIT (PUBRING_WORKERS=2)',
    action: 'SIGHUP after changes of settings in files; the others during a request',
    observed:
      'every worker uses the changed settings and logs them, or keeps the previous ones if a file is invalid; the request is answered; no debugger opens; exit code 0 after SIGQUIT',
    acknowledged: 0,
    lost: 0,
  })
})
