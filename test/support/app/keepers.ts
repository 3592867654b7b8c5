import { type ChildProcess, spawn } from 'node:child_process'
import { createPrivateKey } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { expect } from 'vitest'
import { freePort, readJson, startServer, temporaryFolder } from '../server/process.ts'

const command = join(import.meta.dirname, '../../../bin/pubring.js')

interface Listed {
  id: string
  active: boolean
  expireTime?: string
}

/**
 * Kills a keeper, and its server between, at random points of turns that follow one another. Whatever was
 * killed, the signer has a valid pair, and the next turn leaves no key behind.
 */
export async function killKeepers(kills: { keeper: number; server: number }): Promise<void> {
  const { folder } = temporaryFolder()
  const env = { PUBRING_PORT: String(await freePort()), PUBRING_JWKS_MAX_AGE: '0' }
  let server = await startServer(folder, env)
  const { apiKey, url } = server
  const dir = join(folder, 'signer')
  const headers = { 'x-api-key': apiKey }
  const get = async (path: string): Promise<Listed[]> =>
    readJson(await fetch(`${url}/v1/projects${path}`, { headers }))
  const project = (await get(''))[0]?.id ?? ''
  const list = () => get(`/${project}/jwt-keys`)
  const prune = async () => {
    for (const { id, active } of await list()) {
      if (!active)
        await fetch(`${url}/v1/projects/${project}/jwt-keys/${id}`, { method: 'DELETE', headers })
    }
  }
  const keep = (flags: readonly string[], own: Record<string, string> = {}): ChildProcess =>
    spawn(
      process.execPath,
      [command, 'key', 'keep', dir, '--token-lifetime', '1s', '--project', project, ...flags],
      { env: { PATH: process.env.PATH, PUBRING_URL: url, ...own }, stdio: 'ignore' },
    )
  const once1h = ['--every', '1h', '--once']
  const ended = async (child: ChildProcess) => (await once(child, 'exit'))[0]
  expect(await ended(keep(once1h, { PUBRING_API_KEY: apiKey }))).toBe(0)

  const seed = Date.now() % 2 ** 31
  const pauses = fc.sample(fc.integer({ min: 300, max: 2_500 }), { seed, numRuns: kills.keeper })
  const serverEvery = Math.floor(kills.keeper / Math.max(1, kills.server))
  for (const [n, pause] of pauses.entries()) {
    const child = keep(['--every', '2s'])
    const exited = ended(child)
    await delay(pause / 2)
    if (kills.server > 0 && n % serverEvery === 0) {
      server.signal('SIGKILL')
      await server.ended
      server = { ...(await startServer(folder, env)), apiKey }
    }
    await delay(pause / 2)
    child.kill('SIGKILL')
    await exited
    const keys = await list()
    const where = `kill ${n} of seed ${seed}: ${JSON.stringify(keys)}`
    expectValid(dir, keys, where)
    // The current key, the next one and an old one whose end was not set yet.
    expect(keys.filter(isOpen).length, where).toBeLessThanOrEqual(3)
    await prune()
  }
  // What was begun is completed; then one turn more.
  for (let n = 0; n < 2; n += 1) {
    if (n > 0) ageKey(dir)
    expect(await ended(keep(once1h))).toBe(0)
    const keys = await list()
    expect(
      keys.filter(isOpen).map(({ id }) => id),
      `seed ${seed}`,
    ).toEqual([expectValid(dir, keys)])
  }
}

/** Lets the current key of a keeper have signed for a long time. */
export function ageKey(dir: string, changes: object = {}): void {
  const file = join(dir, 'keeper.json')
  const state = JSON.parse(readFileSync(file, 'utf8'))
  const since = '2026-01-01T00:00:00.000Z'
  writeFileSync(file, JSON.stringify({ ...state, since, ...changes }))
}

const isOpen = ({ active, expireTime }: Listed) => active && expireTime === undefined

/** A signer finds a whole pair whose key is active. Returns its kid. */
function expectValid(dir: string, keys: readonly Listed[], where = ''): string {
  const jwk = JSON.parse(readFileSync(join(dir, 'current.jwk'), 'utf8'))
  createPrivateKey({ key: jwk, format: 'jwk' })
  expect(keys.find(({ id }) => id === jwk.kid)?.active, where).toBe(true)
  const folder = realpathSync(join(dir, 'current'))
  createPrivateKey(readFileSync(join(folder, 'private.pem')))
  const kid = readFileSync(join(folder, 'kid'), 'utf8')
  expect(keys.find(({ id }) => id === kid)?.active, where).toBe(true)
  return jwk.kid
}
