import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { newApiKeySecret } from '../../packages/server/src/kernel/access/secrets.ts'
import { recordFault } from '../support/faults/results.ts'
import { accepted } from '../support/keys/intake.ts'
import { rawConnection, requestHead } from '../support/network/raw-connection.ts'
import { rememberSecret } from '../support/secrets.ts'
import { createServerClient, freshPem } from '../support/server/client.ts'
import { startServer, temporaryFolder } from '../support/server/process.ts'
import { waitUntil } from '../support/waiting.ts'

const { folder } = temporaryFolder()
const file = (name: string) => join(folder, name)
const blocklist = file('blocklist.dat')
const adminFile = file('admin')
const clientSecretFile = file('client-secret')

const newSecret = () => rememberSecret('an API key', newApiKeySecret())
const [adminSecret, secret] = [newSecret(), newSecret()]

writeFileSync(blocklist, '')
writeFileSync(adminFile, `${adminSecret}\n`)
writeFileSync(clientSecretFile, 'before\n')
const server = await startServer(folder, {
  PUBRING_LOG_LEVEL: 'warn',
  PUBRING_BLOCKLIST: blocklist,
  PUBRING_ADMIN_API_KEY_FILE: adminFile,
  PUBRING_OIDC_ISSUER: 'https://id.example.com',
  PUBRING_OIDC_CLIENT_ID: 'pubring',
  PUBRING_OIDC_CLIENT_SECRET_FILE: clientSecretFile,
})

interface LogLine {
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

/** Sends SIGHUP and returns the line that the server logs about it. */
async function reload(message: RegExp): Promise<LogLine | undefined> {
  const earlier = logLines().length
  server.signal('SIGHUP')
  return waitUntil(() =>
    logLines()
      .slice(earlier)
      .find(({ msg }) => message.test(msg)),
  )
}

test('SIGHUP re-reads block list and secrets', async () => {
  expect((await reload(/^settings re-read$/))?.changed).toEqual([])

  const publicKeyPem = freshPem()
  const { materialSha256 } = accepted(publicKeyPem).key
  writeFileSync(blocklist, Buffer.from(`${materialSha256.slice(0, 30)}07`, 'hex'))
  writeFileSync(adminFile, `${secret}\n`)
  writeFileSync(clientSecretFile, 'after\n')
  const change = [
    'PUBRING_ADMIN_API_KEY_FILE',
    'PUBRING_OIDC_CLIENT_SECRET_FILE',
    `PUBRING_BLOCKLIST ${blocklist}`,
  ]
  expect((await reload(/^settings re-read$/))?.changed).toEqual(change)

  const client = createServerClient(server, secret)
  const check = await client.send('POST', '/v1/key-checks', { publicKeyPem })
  expect(check?.text).toContain('compromised_key')
})

test('SIGHUP changes nothing if a file cannot be used, and logs why', async () => {
  writeFileSync(adminFile, 'no key\n')
  const refused = await reload(/^settings not re-read/)
  expect(refused?.reason).toMatch(/^PUBRING_ADMIN_API_KEY_FILE names a file whose first line is/)
  writeFileSync(adminFile, `${secret}\n`)
  writeFileSync(blocklist, 'not a list')
  const invalid = await reload(/^settings not re-read/)
  expect(invalid?.reason).toMatch(/^The block list has 10 bytes/)
  rmSync(blocklist)
  const unreadable = await reload(/^settings not re-read/)
  expect(unreadable?.reason).toBe('PUBRING_BLOCKLIST names a file that does not exist.')
  writeFileSync(blocklist, '')
  const change = [`PUBRING_BLOCKLIST ${blocklist}`]
  expect((await reload(/^settings re-read$/))?.changed).toEqual(change)
})

test('SIGUSR1 and SIGUSR2 leave a request and its process alone; SIGQUIT completes it', async () => {
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
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) server.signal(signal)
  await delay(300)
  expect(server.output()).not.toMatch(/Debugger/)
  server.signal('SIGQUIT')
  await delay(200)
  socket.write(body.slice(10))
  await waitFor(/HTTP\/1.1 200 /)
  expect(await server.ended).toBe(0)
  recordFault({
    fault: 'SIGHUP, SIGUSR1, SIGUSR2 and SIGQUIT',
    observed:
      'after SIGHUP the changed settings are used and logged, or the previous ones if a file is invalid; a request is answered; no debugger opens; exit code 0 after SIGQUIT',
    acknowledged: 0,
    lost: 0,
  })
})
