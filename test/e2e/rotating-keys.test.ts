import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startServer, temporaryFolder } from '../support/server/process.ts'

const page = readFileSync(new URL('../../docs/rotating-keys.md', import.meta.url), 'utf8')
const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text ?? '')
const { folder } = temporaryFolder()

const server = await startServer(folder, { PUBRING_JWKS_MAX_AGE: '1' })
// Only the wait for the last token is short: the tokens themselves outlast a busy machine.
const shortened = blocks.map((block) => block.replace('sleep "$TOKEN_LIFETIME"', 'sleep 1'))
const script = [...shortened, 'echo "$old $new $next"\n'].join('echo "== next block"\n')
const { stdout, stderr } = await promisify(execFile)('sh', ['-eu', '-c', script], {
  cwd: folder,
  env: {
    PATH: process.env.PATH,
    PUBRING_URL: server.url,
    PUBRING_API_KEY: server.apiKey,
    TOKEN_LIFETIME: '300',
  },
})
expect(stderr).toBe('')
/** The output of each block, and the kids that the page calls old, new and next. */
const printed = stdout.split('== next block\n')
const [old = '', fresh = '', next = ''] = printed.at(-1)?.trim().split(' ') ?? []
const kids = { old, new: fresh, next }

/** The JSON lines printed by the block that contains this text. */
function answersOf(text: string): unknown[] {
  const index = blocks.findIndex((block) => block.includes(text))
  expect(index, text).toBeGreaterThan(-1)
  const lines = printed[index]?.trim().split('\n') ?? []
  return lines.map((line): unknown => JSON.parse(line))
}

async function get(path: string): Promise<unknown> {
  const headers = { 'X-Api-Key': server.apiKey }
  return (await fetch(`${server.url}/v1/projects/default${path}`, { headers })).json()
}

test('every block of docs/rotating-keys.md runs in one shell without an error', () => {
  expect(blocks.length).toBeGreaterThan(10)
  expect(printed).toHaveLength(blocks.length + 1)
})

test('tokens signed by openssl verify before and after the rotation', () => {
  expect(answersOf('check "$(sign old.pem')).toMatchObject([{ valid: true, key: { id: kids.old } }])
  expect(answersOf('token=$(sign new.pem')).toMatchObject([{ valid: true, key: { id: kids.new } }])
})

test('deactivating the old key returns the changed key', () => {
  expect(answersOf('PATCH "$keys/$old"')).toMatchObject([{ id: kids.old, active: false }])
})

test('in the emergency the leaked key is rejected and the next one is accepted', () => {
  expect(answersOf('check "$leaked"')).toMatchObject([
    { valid: false, reason: 'key_inactive', key: { id: kids.new } },
    { valid: true, key: { id: kids.next } },
  ])
})

test('the held request returned a key set with only the next key', () => {
  const live: unknown = JSON.parse(readFileSync(join(folder, 'live.json'), 'utf8'))
  expect(live).toMatchObject({ keys: [{ kid: kids.next }] })
})

test('at the end the old key is deleted, the leaked one inactive, the next one active', async () => {
  expect(await get('/jwt-keys')).toMatchObject([
    { id: kids.new, active: false },
    { id: kids.next, active: true },
  ])
  expect(await get('/.well-known/jwks.json')).toMatchObject({ keys: [{ kid: kids.next }] })
})

test('the links in the page have targets', () => {
  const titles = [...page.matchAll(/^#+ (.*)$/gm)].map(([, title]) => title ?? '')
  const anchors = titles.map((title) =>
    title
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )
  const links = [...page.matchAll(/\]\(#([^)]*)\)/g)].map(([, anchor]) => anchor ?? '')
  expect(links.length).toBeGreaterThan(4)
  for (const link of links) expect(anchors).toContain(link)
})
