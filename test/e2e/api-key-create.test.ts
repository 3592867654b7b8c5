import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openShell } from '../cli/support.ts'
import { rememberSecret } from '../support/secrets.ts'
import { type ServerProcess, startServer, temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()
const started = await startServer(folder)
const first = started.apiKey
let server: ServerProcess = started

const shell = openShell(() => ({
  PUBRING_DATABASE_URL: `sqlite:${join(folder, 'data/pubring.db')}`,
}))
const pubring = (...args: string[]) => shell.pubring(args)

const self = async (secret: string) => {
  const response = await fetch(`${server.url}/v1/api-keys/self`, {
    headers: { 'X-Api-Key': secret },
  })
  return { status: response.status, ...Object(await response.json()) }
}

describe('pubring api-key create --admin', () => {
  test('prints only the secret to stdout beside a running server, and it is valid immediately', async () => {
    const { code, stdout, stderr } = await pubring('api-key', 'create', '--admin', '--name', 'me')
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^pubring_[0-9A-Za-z]{49}\n$/),
    })
    const secret = rememberSecret('an API key', stdout.trim())
    const { status, id, ...members } = await self(secret)
    expect(members).toMatchObject({ name: 'me', role: 'admin', active: true })
    expect(members).not.toHaveProperty('projectId')
    expect(status).toBe(200)
    expect(stderr).toContain(id)
  })

  test('works without a server, and the ledger names the command', async () => {
    server.signal('SIGTERM')
    await server.ended
    const { stdout } = await pubring('api-key', 'create', '--admin')
    const secret = rememberSecret('an API key', stdout.trim())
    server = await startServer(folder)
    const created = await self(secret)
    expect(created).toMatchObject({ status: 200, name: 'created at the database', role: 'admin' })
    const events = await fetch(`${server.url}/v1/events`, { headers: { 'X-Api-Key': secret } })
    const last = Object([...Object(await events.json())].at(-1))
    expect(last).toMatchObject({
      type: 'api_key.created',
      actor: { name: 'pubring api-key create' },
      subject: { type: 'api_key', id: created.id },
    })
    expect(last.actor).not.toHaveProperty('apiKeyId')
    expect((await pubring('ledger', 'verify')).code).toBe(0)
  })

  test.each([
    [['--name', ''], 3, /name is empty/],
    [['--database-url', `sqlite:${folder}/typo.db`], 66, /no database at/],
  ])('with %j it creates nothing: exit code %i', async (args, exitCode, message) => {
    const { code, stdout, stderr } = await pubring('api-key', 'create', '--admin', ...args)
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' })
    expect(stderr).toMatch(message)
    expect(existsSync(join(folder, 'typo.db'))).toBe(false)
  })

  test('a secret in a command line is not quoted back', async () => {
    const commands = [
      ['serve', `--admin-api-key=${first}`],
      [first],
      ['ledger', 'verify', '--project', first],
      ['serve', '--host', 'x', '--port', first],
    ]
    for (const args of commands) {
      const { code, stdout, stderr } = await pubring(...args)
      expect(code).toBeGreaterThan(0)
      expect(stderr).not.toBe('')
      expect(stdout + stderr).not.toContain(first.slice(8, 32))
    }
  })
})
