import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startServer, temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()
const server = await startServer(folder, { PUBRING_JWKS_MAX_AGE: '1' })
const script = join(import.meta.dirname, '../../examples/rotate-and-revoke.sh')
const { stdout, stderr } = await promisify(execFile)('sh', [script], {
  cwd: folder,
  env: {
    PATH: process.env.PATH,
    PUBRING_URL: server.url,
    PUBRING_API_KEY: server.apiKey,
    TOKEN_LIFETIME: '300',
    // Only the wait for the last token is short: the tokens themselves outlast a busy machine.
    WAIT: '1',
  },
})
expect(stderr).toBe('')

/** The response to the token check with this name. */
function checkOf(name: string): unknown {
  const line = stdout.split('\n').find((each) => each.startsWith(name)) ?? ''
  return JSON.parse(line.slice(name.length))
}

/** The JSON in a file that the script has written. */
function written(name: string): unknown {
  return JSON.parse(readFileSync(join(folder, name), 'utf8'))
}

async function get(path: string): Promise<unknown> {
  const headers = { 'X-Api-Key': server.apiKey }
  return (await fetch(`${server.url}/v1/projects/default${path}`, { headers })).json()
}

test('tokens signed by openssl verify before and after the rotation', () => {
  expect(checkOf('the key in use:')).toMatchObject({
    valid: true,
    key: { label: 'orders, spring' },
  })
  expect(checkOf('the new key:')).toMatchObject({ valid: true, key: { label: 'orders, autumn' } })
})

test('deactivating the old key returns the changed key', () => {
  expect(written('old.json')).toMatchObject({ label: 'orders, spring', active: false })
})

test('in the emergency the leaked key is rejected and the next one is accepted', () => {
  expect(checkOf('the leaked key:')).toMatchObject({ valid: false, reason: 'key_inactive' })
  expect(checkOf('the next key:')).toMatchObject({ valid: true })
})

test('at the end only the next key is active, and the held request returned the same', async () => {
  expect(await get('/jwt-keys')).toMatchObject([
    { label: 'orders, autumn', active: false },
    { label: 'orders, after the leak', active: true },
  ])
  const published = await get('/.well-known/jwks.json')
  expect(published).toMatchObject({ keys: [{ kty: 'RSA' }] })
  expect(written('live.json')).toEqual(published)
})
