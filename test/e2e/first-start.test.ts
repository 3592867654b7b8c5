import { execFileSync } from 'node:child_process'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newApiKeySecret } from '../../packages/server/src/kernel/access/secrets.ts'
import { spawnServer, startServer, temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()

async function started(name: string, env: Record<string, string> = {}) {
  const where = join(folder, name)
  execFileSync('mkdir', ['-p', where])
  return startServer(where, env)
}

test('the commands that the first start prints work in a shell', async () => {
  const server = await started('commands')
  const lines = server
    .output()
    .split('\n')
    .filter((line) => /^ {2}\S/.test(line))
  expect(lines).toHaveLength(6)
  expect(lines[1]).toBe(`  export PUBRING_URL=${server.url}`)
  const script = lines.join('\necho; echo ---\n')
  const printed = execFileSync('sh', ['-e', '-c', script], {
    cwd: server.folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [, , , , created = '', listed = ''] = printed.split('---\n')
  const { kid } = JSON.parse(created)
  expect(JSON.parse(listed)).toMatchObject([{ id: kid, label: 'orders, spring', active: true }])
})

test('only the owner can access the data folder', () => {
  expect(statSync(join(folder, 'commands/data')).mode & 0o077).toBe(0)
})

test('the second start prints no secret and keeps the keys', async () => {
  const first = await started('again')
  first.signal('SIGTERM')
  expect(await first.ended).toBe(0)
  const second = await startServer(first.folder)
  expect(second.output()).not.toContain('pubring_')
  const response = await fetch(`${second.url}/v1/projects/default/jwt-keys`, {
    headers: { 'X-Api-Key': first.apiKey },
  })
  expect(response.status).toBe(200)
})

test('a configured admin API key is registered, and no other is printed', async () => {
  const secret = newApiKeySecret()
  const server = await started('configured', { PUBRING_ADMIN_API_KEY: secret })
  expect(server.output()).not.toContain('pubring_')
  const response = await fetch(`${server.url}/v1/api-keys/self`, {
    headers: { 'X-Api-Key': secret },
  })
  expect(await response.json()).toMatchObject({ role: 'admin', name: 'PUBRING_ADMIN_API_KEY' })
})

test.each([
  ['an invalid port', { PUBRING_PORT: '80x' }, /PUBRING_PORT must be a whole number/],
  [
    'an invalid PostgreSQL address',
    { PUBRING_DATABASE_URL: 'postgres://u:secret@h:port/d' },
    /address of the database/,
  ],
  [
    'an API key with a typo',
    { PUBRING_ADMIN_API_KEY: 'pubring_secret' },
    /part of it may be missing/,
  ],
  ['a folder that is a file', { PUBRING_DATABASE_URL: 'sqlite:./file/x.db' }, /file/],
])('%s stops the start with one clear line, without the secret', async (_name, env, message) => {
  writeFileSync(join(folder, 'file'), '')
  const server = await spawnServer(folder, env)
  expect(await server.ended).not.toBe(0)
  expect(server.output().trim().split('\n')).toHaveLength(1)
  expect(server.output()).toMatch(message)
  expect(server.output()).not.toContain('secret')
})
