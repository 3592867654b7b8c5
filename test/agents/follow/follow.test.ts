import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { findKeySet } from '../../../packages/agents/src/follow/documents.ts'
import { type FollowOptions, followOnce } from '../../../packages/agents/src/follow/follow.ts'
import { newFollowed } from '../../../packages/agents/src/follow/followed.ts'
import { followProjects } from '../../../packages/agents/src/follow/source.ts'
import type { FollowFlags } from '../../../packages/cli/src/follow/options.ts'
import { startApp } from '../../support/app/app.ts'
import { testClock } from '../../support/app/clock.ts'
import { followOptions, kidsIn, startFollower } from '../../support/app/followers.ts'
import {
  heldRequests,
  newProject,
  patchKey,
  registerKey,
  type TestProject,
} from '../../support/app/keys.ts'
import { startHttpServer } from '../../support/network/http-server.ts'
import { startTcpProxy } from '../../support/network/tcp-proxy.ts'
import { temporaryFolder } from '../../support/server/process.ts'
import { expectWithin } from '../../support/timing.ts'

const { folder } = temporaryFolder()

const server = await startApp({ http: { metrics: true } })
const proxy = await startTcpProxy(Number(new URL(await server.listen()).port))

afterEach(() => proxy.restore())

let count = 0
async function projectWithKey(): Promise<{ project: TestProject; kid: string; out: string }> {
  count += 1
  const project = await newProject(server, `followed-${count}`)
  const out = join(folder, project.name, 'keys.json')
  return { project, kid: await registerKey(server, {}, project.keys), out }
}

const optionsOf = (projects: readonly string[], flags: Partial<FollowFlags>) =>
  followOptions(`http://127.0.0.1:${proxy.port}`, projects, flags)

async function follow(
  projects: readonly string[],
  flags: Partial<FollowFlags>,
  limits: Partial<Pick<FollowOptions, 'timeoutMs' | 'url'>> = {},
) {
  return startFollower({ ...(await optionsOf(projects, flags)), ...limits })
}

const soon = { interval: 20 }

test('a deactivated key leaves the file within a second, and a new one joins it', async () => {
  const { project, kid, out } = await projectWithKey()
  const follower = await follow([project.name], { out })
  await expect.poll(() => kidsIn(out), soon).toEqual([kid])
  await expect.poll(() => heldRequests(server)).toBe(1)
  const began = performance.now()
  await patchKey(server, kid, { active: false }, project.keys)
  await expect.poll(() => kidsIn(out), { interval: 5 }).toEqual([])
  expectWithin(1_000, performance.now() - began)
  const added = await registerKey(server, {}, project.keys)
  await expect.poll(() => kidsIn(out), soon).toEqual([added])
  // The first and the last line are the same, within a minute.
  const written = () => follower.reports.filter((line) => line.startsWith('Wrote'))
  const counts = ['1 key', '0 keys', '1 key']
  await expect.poll(written, soon).toEqual(counts.map((each) => `Wrote ${each} of 1 project.`))
})

test('the server is away: the last keys stay, and changes arrive once it is back', async () => {
  const { project, kid, out } = await projectWithKey()
  const follower = await follow([project.name], { out })
  await expect.poll(() => kidsIn(out), soon).toEqual([kid])
  proxy.cut()
  await patchKey(server, kid, { active: false }, project.keys)
  await expect.poll(() => follower.reports.join('\n'), soon).toContain('cannot be reached')
  follower.clock.advance(3_600_000)
  await follower.looksTwice()
  expect(kidsIn(out)).toEqual([kid])
  proxy.restore()
  await expect.poll(() => kidsIn(out)).toEqual([])
})

test('with --on-stale empty the keys go after --stale-after, and come back with the server', async () => {
  const { project, kid, out } = await projectWithKey()
  const follower = await follow([project.name], { out, onStale: 'empty', staleAfter: '1h' })
  await expect.poll(() => kidsIn(out), soon).toEqual([kid])
  proxy.cut()
  await expect.poll(() => follower.reports.join('\n'), soon).toContain('cannot be reached')
  follower.clock.advance(3_000_000)
  await follower.looksTwice()
  expect(kidsIn(out)).toEqual([kid])
  follower.clock.advance(700_000)
  await expect.poll(() => kidsIn(out), soon).toEqual([])
  proxy.restore()
  await expect.poll(() => kidsIn(out)).toEqual([kid])
})

test('a clock that is set forward does not empty the keys while the server answers', async () => {
  const { project, kid, out } = await projectWithKey()
  const follower = await follow([project.name], { out, onStale: 'empty' })
  await expect.poll(() => kidsIn(out), soon).toEqual([kid])
  follower.clock.advance(7_200_000)
  for (let look = 0; look < 20; look += 1) {
    await delay(100)
    expect(kidsIn(out)).toEqual([kid])
  }
})

test('--listen serves both key sets and discovery, with its own address', async () => {
  const { project, kid, out } = await projectWithKey()
  const follower = await follow([project.name], { out, listen: '127.0.0.1:0', staleAfter: '1h' })
  await expect.poll(() => kidsIn(out), soon).toEqual([kid])
  const [, base = ''] = /Serving the key sets at (\S+)\./.exec(follower.reports.join('\n')) ?? []
  const { get } = follower
  const at = (name: string, ref = project.name) => `/v1/projects/${ref}/.well-known/${name}`

  const jwks = await get(at('jwks.json'))
  expect(jwks.headers.get('cache-control')).toBe('public, max-age=1')
  expect(jwks.headers.get('age')).toBeNull()
  const published = await server.inject({ method: 'GET', url: project.jwks })
  expect(await jwks.json()).toEqual(published.json())
  expect(await (await get(at('jwks-full.json', project.id))).json()).toEqual(published.json())
  const etag = jwks.headers.get('etag') ?? ''
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
    expect((await get(at('jwks.json'), { 'if-none-match': known })).status).toBe(304)
  }

  const discovery = (await (await get(at('openid-configuration', project.id))).json()) as object
  const own = `/v1/projects/${project.id}/.well-known/openid-configuration`
  expect(discovery).toEqual({
    ...(await server.inject({ method: 'GET', url: own })).json(),
    jwks_uri: `${base}/v1/projects/${project.id}/.well-known/jwks.json`,
  })
  expect((await get(at('jwks.json', 'nobody'))).status).toBe(404)
  expect((await get('/health/ready')).status).toBe(200)

  proxy.cut()
  await expect.poll(() => follower.reports.join('\n'), soon).toContain('cannot be reached')
  follower.clock.advance(600_000)
  const stale = await get(at('jwks.json'))
  expect(Number(stale.headers.get('age'))).toBeGreaterThanOrEqual(600)
  expect((await get('/health/ready')).status).toBe(200)
  follower.clock.advance(3_600_000)
  await expect.poll(async () => (await get('/health/ready')).status, soon).toBe(503)
  expect((await get('/health/live')).status).toBe(200)
})

test('--exec runs at the start and after each change, one at a time, until it succeeds', async () => {
  const { project, kid, out } = await projectWithKey()
  const log = join(folder, `${project.name}.log`)
  const flag = join(folder, `${project.name}.broken`)
  const exec = `test ! -e ${flag} && echo "$JWKS_PROJECTS $JWKS_OUT" >> ${log}`
  const follower = await follow([project.name], { out, exec })
  const lines = () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').length - 1 : 0)
  await expect.poll(lines, soon).toBe(1)
  expect(readFileSync(log, 'utf8')).toBe(`${project.name} ${out}\n`)
  writeFileSync(flag, '')
  await patchKey(server, kid, { active: false }, project.keys)
  await expect
    .poll(() => follower.reports.join('\n'), soon)
    .toContain('--exec failed with exit code 1')
  expect(kidsIn(out)).toEqual([])
  rmSync(flag)
  await expect.poll(lines, soon).toBe(2)
})

test('--exec runs after a change of which only a part could be written at first', async () => {
  const [one, other] = [await projectWithKey(), await projectWithKey()]
  const names = [one.project.name, other.project.name]
  const out = join(folder, `${one.project.name}.d`)
  const log = join(folder, `${one.project.name}.runs`)
  const follower = await follow(names, { out, exec: `echo >> ${log}` })
  const runs = () => (existsSync(log) ? readFileSync(log, 'utf8').length : 0)
  await expect.poll(runs, soon).toBe(1)
  const [file = '', blocked = ''] = names.map((name) => join(out, `${name}.json`))
  const content = readFileSync(blocked, 'utf8')
  rmSync(blocked)
  mkdirSync(blocked)
  await patchKey(server, one.kid, { active: false }, one.project.keys)
  await expect.poll(() => follower.reports.join('\n'), soon).toContain('cannot be written')
  await follower.looksTwice()
  expect([kidsIn(file), runs()]).toEqual([[], 1])
  // The same line each time, which is not repeated within a minute.
  expect(follower.reports.filter((line) => line.includes('cannot be written'))).toHaveLength(1)
  rmSync(blocked, { recursive: true })
  writeFileSync(blocked, content)
  await expect.poll(runs, soon).toBe(2)
})

test('--exec runs a second after the last run at the earliest: HAProxy misses a signal while it reloads', async () => {
  const { project, kid, out } = await projectWithKey()
  const log = join(folder, `${project.name}.times`)
  await follow([project.name], { out, exec: `date +%s%3N >> ${log}` })
  const times = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [])
  await expect.poll(() => times().length, soon).toBe(1)
  await patchKey(server, kid, { active: false }, project.keys)
  await expect.poll(() => times().length, soon).toBe(2)
  const [first, second] = times()
  expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(1_000)
})

test('an --exec that hangs is killed with its children, and keys are written meanwhile', async () => {
  const { project, kid, out } = await projectWithKey()
  const pids = join(folder, `${project.name}.pids`)
  const exec = `sleep 600 & echo $! >> ${pids}; wait`
  const follower = await follow([project.name], { out, exec }, { timeoutMs: 1_500 })
  await expect.poll(() => existsSync(pids), soon).toBe(true)
  await patchKey(server, kid, { active: false }, project.keys)
  await expect.poll(() => kidsIn(out), { interval: 5 }).toEqual([])
  expect(follower.reports.join('\n')).not.toContain('--exec')
  await expect
    .poll(() => follower.reports.join('\n'), soon)
    .toContain('--exec was ended by SIGKILL; trying again in 1 s.')
  const [pid = ''] = readFileSync(pids, 'utf8').split('\n')
  await expect.poll(() => existsSync(`/proc/${pid}/exe`), soon).toBe(false)
  const added = await registerKey(server, {}, project.keys)
  await expect.poll(() => kidsIn(out), soon).toEqual([added])
})

test('a folder that disappears, or a file in its place, is reported and survived', async () => {
  const { project, kid, out } = await projectWithKey()
  const follower = await follow([project.name], { out })
  await expect.poll(() => kidsIn(out), soon).toEqual([kid])
  const parent = join(folder, project.name)
  rmSync(parent, { recursive: true })
  writeFileSync(parent, '')
  await patchKey(server, kid, { active: false }, project.keys)
  await expect.poll(() => follower.reports.join('\n'), soon).toContain('cannot be written')
  rmSync(parent)
  await expect.poll(() => kidsIn(out), soon).toEqual([])
})

test('behind a proxy that gives up on held requests, they become shorter, and changes arrive', async () => {
  const { project, kid, out } = await projectWithKey()
  const waits: number[] = []
  const between = await startHttpServer(async (incoming, outgoing) => {
    const { prefer, 'if-none-match': tags = '' } = incoming.headers
    const wait = Number(/^wait=(\d+)$/.exec(String(prefer))?.[1])
    if (incoming.url?.endsWith('/jwks-full.json')) waits.push(wait)
    const answer = await fetch(`http://127.0.0.1:${proxy.port}${incoming.url}`, {
      headers: { 'if-none-match': tags, prefer: `wait=${wait}` },
      signal: AbortSignal.timeout(wait > 6 ? 300 : 10_000),
    }).catch(() => new Response('', { status: 504 }))
    const headers = Object.fromEntries(answer.headers)
    outgoing.writeHead(answer.status, headers).end(await answer.text())
  })
  const follower = await follow([project.name], { out }, { url: between.url })
  await expect.poll(() => waits, soon).toEqual([0, 25, 12, 6])
  expect(kidsIn(out)).toEqual([kid])
  await patchKey(server, kid, { active: false }, project.keys)
  await expect.poll(() => kidsIn(out), soon).toEqual([])
  expect(follower.reports.join('\n')).not.toContain('504')
  await follower.stop()
})

test('a heartbeat tells the time beside the keys, while they can be written', async () => {
  const { project, kid, out } = await projectWithKey()
  const follower = await follow([project.name], { out })
  const beat = () =>
    existsSync(`${out}.heartbeat`) ? readFileSync(`${out}.heartbeat`, 'utf8') : ''
  await expect.poll(beat, soon).toMatch(/^\d{10}\n$/)
  const ageSeconds = () => follower.clock.now() / 1_000 - Number(beat())
  for (const seconds of [3, 100]) {
    follower.clock.advance(seconds * 1_000)
    await expect.poll(ageSeconds).toBeLessThan(3)
  }
  rmSync(out)
  mkdirSync(out)
  await patchKey(server, kid, { active: false }, project.keys)
  await expect.poll(() => follower.reports.join('\n'), soon).toContain('cannot be written')
  const last = beat()
  follower.clock.advance(60_000)
  await follower.looksTwice()
  expect(beat()).toBe(last)
  rmSync(out, { recursive: true })
  await expect.poll(ageSeconds).toBeLessThan(3)
})

test('the heartbeat of keys in a folder is in it', async () => {
  const { project, kid } = await projectWithKey()
  const out = join(folder, project.name, 'pems')
  await follow([project.name], { out, format: 'pem-dir' })
  const files = () => (existsSync(out) ? readdirSync(out).sort() : [])
  const all = ['.heartbeat', '.pubring-follow.json', '.state', `${kid}.pem`]
  await expect.poll(files, soon).toEqual(all)
})

test('SIGHUP fetches and writes everything again', async () => {
  const { project, kid, out } = await projectWithKey()
  const follower = await follow([project.name], { out })
  await expect.poll(() => kidsIn(out), soon).toEqual([kid])
  rmSync(out)
  await delay(300)
  expect(existsSync(out)).toBe(false)
  follower.reload()
  await expect.poll(() => kidsIn(out), soon).toEqual([kid])
})

test('a project that is unknown does not keep the others from being followed', async () => {
  const { project, kid } = await projectWithKey()
  const out = join(folder, 'several')
  const follower = await follow([project.name, 'nobody'], { out })
  const file = join(out, `${project.name}.json`)
  await expect.poll(() => kidsIn(file), soon).toEqual([kid])
  expect(follower.reports.join('\n')).toContain('Project nobody: There is no project')
  await patchKey(server, kid, { active: false }, project.keys)
  await expect.poll(() => kidsIn(file), soon).toEqual([])
})

test('an unexpected error of one project is reported with its name, and the project is followed further', async () => {
  const followed = [newFollowed('payments')]
  const controller = new AbortController()
  const reports: string[] = []
  let changes = 0
  const source = followProjects({
    url: `http://127.0.0.1:${proxy.port}`,
    followed,
    clock: testClock(),
    staleAfterMs: 600_000,
    acceptedHistory: [],
    log: undefined,
    signal: controller.signal,
    onChange() {
      changes += 1
      if (changes === 1) throw new TypeError('no such member')
    },
    report: (message) => void reports.push(message),
  })
  await expect.poll(() => reports, soon).toHaveLength(1)
  expect(reports[0]).toBe('Project payments: The key set cannot be updated (no such member).')
  const kid = await registerKey(server)
  await expect.poll(() => followed[0]?.keys?.fullJwks.map((key) => key.kid), soon).toContain(kid)
  controller.abort()
  await source.ended
})

test('500 projects are followed', async () => {
  const { project, kid } = await projectWithKey()
  const others = []
  for (let index = 0; index < 499; index += 1) others.push(`many-${index}`)
  await Promise.all(others.map((name) => newProject(server, name)))
  const out = join(folder, 'many')
  mkdirSync(out)
  await follow([...others, project.name], { out })
  const file = join(out, `${project.name}.json`)
  await expect.poll(() => kidsIn(file)).toEqual([kid])
  await expect.poll(() => kidsIn(join(out, 'many-0.json'))).toEqual([])
  await expect.poll(() => heldRequests(server)).toBe(500)
  const began = performance.now()
  await patchKey(server, kid, { active: false }, project.keys)
  await expect.poll(() => kidsIn(file), { interval: 10 }).toEqual([])
  expectWithin(2_000, performance.now() - began)
})

test('--once writes, runs --exec and ends; it fails if anything does', async () => {
  const { project, kid, out } = await projectWithKey()
  const context = {
    clock: testClock(),
    signal: new AbortController().signal,
    onReload: () => {},
    report: () => {},
  }
  const mark = join(folder, 'mark')
  await followOnce(await optionsOf([project.name], { out, exec: `touch ${mark}` }), context)
  expect(kidsIn(out)).toEqual([kid])
  expect(existsSync(mark)).toBe(true)
  const failing = await optionsOf([project.name], { out, exec: 'exit 3' })
  await expect(followOnce(failing, context)).rejects.toThrow('--exec failed with exit code 3')
  const unknown = await optionsOf(['nobody'], { out })
  await expect(followOnce(unknown, context)).rejects.toThrow('Project nobody')
  proxy.cut()
  const away = await optionsOf([project.name], { out })
  await expect(followOnce(away, context)).rejects.toThrow('cannot be reached')
})

test('a 304 to a request that knows no entity tag is not taken for an empty key set', async () => {
  const other = await startHttpServer((_request, response) => response.writeHead(304).end())
  const { signal } = new AbortController()
  const query = { url: other.url, signal, waitSeconds: 0, known: undefined }
  await expect(findKeySet(server.project.id, query)).rejects.toThrow('not a key set')
})

test.each([
  ['that is no JSON', '<html>'],
  ['without keys', '{}'],
  ['that is too long', `{"keys":[]${' '.repeat(5 * 1_048_576)}}`],
])('a response %s is a problem, and nothing is written', async (_, body) => {
  const other = await startHttpServer((_request, response) => response.end(body))

  const out = join(folder, 'unwritten')
  const options = { ...(await optionsOf(['p'], { out, format: 'haproxy' })), url: other.url }
  const context = { clock: testClock(), signal: new AbortController().signal }
  const once = followOnce(options, { ...context, onReload: () => {}, report: () => {} })
  await expect(once).rejects.toThrow(/is not a key set/)
  expect(existsSync(out)).toBe(false)
})

test.each([
  [{}, /--out, or an address with --listen/],
  [{ out: 'x', format: 'yaml' }, /--format must be one of jwks, pem-dir, haproxy/],
  [{ out: 'x', format: 'envoy-lds' }, /needs --template/],
  [{ out: 'x', template: 'y' }, /needs --template/],
  [{ out: 'x', algorithm: ['HS256'] }, /--algorithm must be one of RS256/],
  [{ listen: '8081' }, /--listen must be HOST:PORT/],
  [{ listen: '127.0.0.1:1', once: true as const }, /exclude each other/],
  [{ out: 'x', onStale: 'drop' }, /--on-stale must be one of keep, empty/],
  [{ out: 'x', staleAfter: 'soon' }, /--stale-after must be a duration/],
])('the options %j are rejected', async (flags, message) => {
  await expect(optionsOf(['p'], flags)).rejects.toThrow(message)
})
