import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openShell, type Shell } from '../cli/support.ts'
import { rememberPrivateKey } from '../support/secrets.ts'
import { stopServer } from '../support/server/command.ts'
import { freePort, startServer, temporaryFolder } from '../support/server/process.ts'

let folder: string
let remove: () => void
let env: Record<string, string>
let client: Record<string, string>
let shell: Shell
beforeEach(async () => {
  const temporary = temporaryFolder()
  folder = temporary.folder
  remove = temporary.remove
  env = {
    PUBRING_PORT: String(await freePort()),
    PUBRING_DATABASE_URL: `sqlite:${join(folder, 'pubring.db')}`,
  }
  client = {}
  shell = openShell(() => ({ ...env, ...client }))
})
afterEach(() => {
  remove()
})

test('a restored backup stops the log, until an admin restarts it with a new key', async () => {
  const prefix = `127.0.0.1:${env.PUBRING_PORT}/log/`
  const url = `http://127.0.0.1:${env.PUBRING_PORT}`
  const pubring = (...args: string[]) => shell.pubring(args)
  const published = async (path: string) => (await fetch(`${url}/log/${path}`)).text()
  let server = await startServer(folder, env)
  client = { PUBRING_URL: url, PUBRING_API_KEY: server.apiKey }
  const keyFile = join(folder, 'pubring.db.log-key')
  expect(statSync(keyFile).mode & 0o777).toBe(0o600)
  rememberPrivateKey(readFileSync(keyFile, 'utf8'))

  const key = await pubring('log', 'key')
  const [origin = ''] = key.stdout.split('+')
  expect(origin.startsWith(prefix), key.stderr).toBe(true)
  const first = await pubring('log', 'checkpoint')
  expect(first.stdout.startsWith(`${origin}\n3\n`), first.stderr).toBe(true)
  const exported = join(folder, 'exported')
  expect((await pubring('ledger', 'export', exported, '--project', 'default')).code).toBe(0)
  expect([await published('checkpoint'), await published('vkey')]).toEqual([
    first.stdout,
    key.stdout,
  ])
  const backup = join(folder, 'backup.db')
  expect((await pubring('backup', backup)).code).toBe(0)
  await pubring('project', 'create', 'lost')
  expect((await pubring('log', 'checkpoint')).code).toBe(0)
  await stopServer(server)
  expect((await pubring('restore', backup)).code).toBe(0)

  server = await startServer(folder, env)
  const ready = async () => {
    const response = await fetch(`${url}/health/ready`)
    return [
      response.status,
      response.headers.get('pubring-state'),
      Object(await response.json()).logReason,
    ]
  }
  // It has signed nothing so far.
  await expect.poll(ready).toEqual([200, 'degraded', 'diverged'])
  await pubring('project', 'create', 'another')
  const stopped = await pubring('log', 'checkpoint')
  expect(stopped).toMatchObject({ code: 7, stdout: '' })
  expect(stopped.stderr).toContain('does not extend a checkpoint that was signed before')
  expect(await (await fetch(`${url}/health/ready`)).json()).toMatchObject({
    log: 'stopped',
    logReason: 'diverged',
  })
  const write = await fetch(`${url}/health/write`)
  expect([write.status, await write.json()]).toEqual([
    200,
    { status: 'ok', log: 'stopped', logReason: 'diverged' },
  ])
  const doctor = () => pubring('doctor', '--url', url)
  expect(await doctor()).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/its log has stopped \(diverged\)\. The log does not extend/),
  })

  const refused = await pubring('log', 'restart', '--yes')
  expect(refused).toMatchObject({ code: 7, stderr: expect.stringContaining('Put a new key') })
  await stopServer(server)
  expect(server.output()).toContain('the log has stopped')
  rmSync(keyFile)
  server = await startServer(folder, env)
  rememberPrivateKey(readFileSync(keyFile, 'utf8'))
  expect((await pubring('log', 'checkpoint')).stderr).toContain('belongs to another signing key')
  const next = await pubring('log', 'key')
  const [nextOrigin = ''] = next.stdout.split('+')
  expect(next.stderr).toContain(`pubring log restart starts ${nextOrigin}`)
  const restarted = await pubring('log', 'restart', '--yes')
  expect(restarted.stdout, restarted.stderr).toBe(next.stdout)
  const again = await pubring('log', 'checkpoint')
  expect(await published(`${nextOrigin.replace(prefix, '')}/checkpoint`)).toBe(again.stdout)
  expect(await published(`${origin.replace(prefix, '')}/checkpoint`)).toContain('log_ended')
  expect(await ready()).toEqual([200, 'fresh', undefined])
  const verified = await pubring(
    ...['ledger', 'verify', '--file', `${exported}.jsonl`, '--proof', `${exported}.tlog-proof`],
    ...['--log-key', key.stdout, '--log', `${url}/log`],
  )
  expect(verified).toMatchObject({ code: 1, stdout: expect.stringMatching(/^BROKEN .* ended at /) })
  expect(verified.stdout).toContain('Z, after 6 entries, and')
  expect(verified.stdout).toContain(`It goes on at http://${nextOrigin}: `)
  expect((await doctor()).code).toBe(0)
  await stopServer(server)
  expect(server.output()).toContain('checkpoints of the log are signed again')
})
