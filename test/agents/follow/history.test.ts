import { hash, randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import canonicalize from 'canonicalize'
import { beforeEach, expect, test } from 'vitest'
import { followOnce } from '../../../packages/agents/src/follow/follow.ts'
import type { FollowFlags } from '../../../packages/cli/src/follow/options.ts'
import { mayBeEarlier } from '../../../packages/client/src/key-set/head.ts'
import { formatVerifierKey } from '../../../packages/client/src/log/note.ts'
import { testClock } from '../../support/app/clock.ts'
import { followOptions, kidsIn, startFollower } from '../../support/app/followers.ts'
import { jwkOf } from '../../support/keys/published.ts'
import { createMemoryLog } from '../../support/log/memory-log.ts'
import { type HttpServer, startHttpServer } from '../../support/network/http-server.ts'
import { temporaryFolder } from '../../support/server/process.ts'

const { folder } = temporaryFolder()
const soon = { interval: 20 }

/** The key set that the server publishes, with the headers and the proof it sends. */
let published: { kids: string[]; head: string; age: number | undefined; proof: string | undefined }
/** The jwks.json of a replica that is behind, or of a cache. */
let behind: { kids: string[]; head: string; age?: number } | undefined
/** Whether the cache responds with its copy to `Cache-Control: no-cache` too. */
let isStubborn: boolean
/** Whether the server is away. */
let isAway: boolean
/** Changes before one request for jwks-full.json each. */
let upcoming: (() => void)[]
let project: string
let out: string
let requests: number
let server: HttpServer
beforeEach(async () => {
  project = randomUUID()
  out = join(folder, project, 'keys.json')
  published = { kids: ['first'], head: '4.44444444', age: undefined, proof: undefined }
  behind = undefined
  isStubborn = false
  isAway = false
  upcoming = []
  requests = 0
  server = await startHttpServer(({ url = '', headers }, response) => {
    if (url.endsWith('/jwks-full.json')) upcoming.shift()?.()
    const { proof } = published
    const isPassed =
      headers['cache-control'] === 'no-cache' && behind?.age !== undefined && !isStubborn
    const isCopy = url.endsWith('/jwks.json') && !isPassed
    const { kids, head, age } = (isCopy && behind) || published
    if (url.endsWith('/ledger-proof')) return response.writeHead(proof ? 200 : 404).end(proof)
    if (url.endsWith('/openid-configuration')) return response.end('{"issuer": "https://k"}')
    requests += 1
    if (isAway) return response.writeHead(502).end()
    context.clock.advance(2_001)
    const etag = `"${kids.join()}"`
    response.setHeader('pubring-revision', head).setHeader('etag', etag)
    if (age !== undefined) response.setHeader('age', age)
    if (headers['if-none-match'] === etag) return response.writeHead(304).end()
    return response.end(JSON.stringify({ keys: kids.map((kid) => jwkOf(kid)) }))
  })
})

const optionsOf = (flags: Partial<FollowFlags> = {}) =>
  followOptions(`${server.url}`, [project], { out, ...flags })

async function follow(flags: Partial<FollowFlags> = {}) {
  const follower = startFollower(await optionsOf({ listen: '127.0.0.1:0', ...flags }))
  const readiness = async () => (await follower.get('/health/ready')).text()
  return { ...follower, readiness, log: () => follower.reports.join('\n') }
}

const context = {
  clock: testClock(),
  signal: new AbortController().signal,
  onReload: () => {},
  report: () => {},
}

async function further(count: number): Promise<void> {
  const before = requests
  await expect.poll(() => requests, soon).toBeGreaterThan(before + count)
}

test.each([
  ['an earlier revision', '3.33333333', ['revoked']],
  ['another event of the same revision', '4.00000000', ['revoked']],
  ['an earlier revision with the same keys', '3.33333333', ['first']],
])('%s is refused, reported, counted, and fails readiness until it is accepted', async (...row) => {
  const [, head, kids] = row
  const follower = await follow()
  await expect.poll(() => kidsIn(out), soon).toEqual(['first'])
  Object.assign(published, { kids, head })
  await further(2)
  follower.clock.advance(2_001)
  await expect.poll(follower.log, soon).toContain(`--accept-history ${head}`)
  expect(await follower.readiness()).toBe(
    `the server has been set back or contradicts the log: ${project}\n`,
  )
  const metrics = await (await follower.get('/metrics')).text()
  expect(metrics).toMatch(/^pubring_follow_refused_total\{.*\} [1-9]/m)
  expect(metrics).toMatch(/^pubring_follow_ready 0$/m)
  expect(kidsIn(out)).toEqual(['first'])
  await follower.stop()

  await expect(followOnce(await optionsOf(), context)).rejects.toThrow(/--accept-history/)
  const other = await optionsOf({ acceptHistory: ['3.99999999'] })
  await expect(followOnce(other, context)).rejects.toThrow(/--accept-history/)
  expect(kidsIn(out)).toEqual(['first'])
  await followOnce(await optionsOf({ acceptHistory: [head] }), context)
  expect(kidsIn(out)).toEqual(kids)
  await followOnce(await optionsOf(), context)
})

test('a replica that is behind for a moment is asked again without a report', async () => {
  const follower = await follow()
  await expect.poll(() => kidsIn(out), soon).toEqual(['first'])
  Object.assign(published, { kids: ['old'], head: '3.33333333' })
  await further(1)
  expect(await follower.readiness()).toBe('ok\n')
  Object.assign(published, { kids: ['second'], head: '5.55555555' })
  await expect.poll(() => kidsIn(out), soon).toEqual(['second'])
  follower.clock.advance(2_001)
  expect(await follower.readiness()).toBe('ok\n')
  expect(follower.log()).not.toContain('Project')
})

test('with --once a replica that is behind for a moment is asked again', async () => {
  await followOnce(await optionsOf(), context)
  Object.assign(published, { kids: ['old'], head: '3.33333333' })
  const ended = followOnce(await optionsOf(), context)
  await further(0)
  Object.assign(published, { kids: ['second'], head: '5.55555555' })
  await ended
  expect(kidsIn(out)).toEqual(['second'])
})

test('a jwks.json that is behind jwks-full.json is not taken for the same revision', async () => {
  const follower = await follow()
  await expect.poll(() => kidsIn(out), soon).toEqual(['first'])
  behind = { kids: ['first'], head: '4.44444444' }
  Object.assign(published, { kids: ['second'], head: '5.55555555' })
  await further(3)
  expect(kidsIn(out)).toEqual(['first'])
  expect(await follower.readiness()).toBe('ok\n')
  behind = undefined
  await expect.poll(() => kidsIn(out), soon).toEqual(['second'])
  expect(follower.log()).not.toContain('Project')
})

test.each([0, 5])('the copy of jwks.json in a cache, %i s old, is passed over', async (age) => {
  const follower = await follow()
  await expect.poll(() => kidsIn(out), soon).toEqual(['first'])
  behind = { kids: ['first'], head: '4.44444444', age }
  Object.assign(published, { kids: ['second'], head: '5.55555555' })
  await expect.poll(() => kidsIn(out), soon).toEqual(['second'])
  expect(await (await follower.get('/metrics')).text()).toMatch(/refused_total\{.*\} 0$/m)
  expect(follower.log()).not.toContain('Project')
})

test.each(['4.44444444', '5.00000000'])(
  'a copy of jwks.json of %s that cannot be passed over is reported, and not refused',
  async (head) => {
    const follower = await follow()
    await expect.poll(() => kidsIn(out), soon).toEqual(['first'])
    behind = { kids: ['first'], head, age: 5 }
    isStubborn = true
    Object.assign(published, { kids: ['second'], head: '5.55555555' })
    await further(4)
    follower.clock.advance(2_001)
    const words = `A cache has jwks.json of ${head}, and jwks-full.json is of 5.55555555.`
    await expect.poll(follower.log, soon).toContain(words)
    expect(kidsIn(out)).toEqual(['first'])
    expect(await follower.readiness()).toBe('ok\n')
    expect(await (await follower.get('/metrics')).text()).toMatch(/refused_total\{.*\} 0$/m)
    isStubborn = false
    await expect.poll(() => kidsIn(out), soon).toEqual(['second'])
  },
)

test('the message says that two documents differ, if not which one is the earlier', async () => {
  behind = { kids: ['first'], head: '4.00000000' }
  const words = 'jwks.json is of 4.00000000 and jwks-full.json of 4.44444444'
  await expect(followOnce(await optionsOf(), context)).rejects.toThrow(words)
})

test.each([
  [60, 0],
  [500, 450_000],
])(
  'a copy of an earlier revision, %i s old and %i ms after the last contact, is neither used, reported nor counted',
  async (age, ms) => {
    const follower = await follow()
    await expect.poll(() => kidsIn(out), soon).toEqual(['first'])
    Object.assign(published, { kids: ['old'], head: '3.33333333', age })
    await further(2)
    follower.clock.advance(ms)
    await further(2)
    expect(await follower.readiness()).toBe('ok\n')
    expect(kidsIn(out)).toEqual(['first'])
    Object.assign(published, { kids: ['second'], head: '5.55555555', age: undefined })
    await expect.poll(() => kidsIn(out), soon).toEqual(['second'])
    expect(follower.log()).not.toContain('Project')
    expect(await (await follower.get('/metrics')).text()).toMatch(/refused_total\{.*\} 0$/m)
  },
)

test('only a response without Age, or as recent as a replica can be behind, is the present one', () => {
  expect(mayBeEarlier(undefined, 0)).toBe(false)
  expect(mayBeEarlier(0, 2_000)).toBe(true)
  expect(mayBeEarlier(0, 2_001)).toBe(false)
  expect(mayBeEarlier(5, 7_000)).toBe(true)
  expect(mayBeEarlier(5, 7_001)).toBe(false)
})

test.each([0, 5])(
  'an earlier revision that a cache has only since the last contact, %i s old, is refused',
  async (age) => {
    const follower = await follow()
    await expect.poll(() => kidsIn(out), soon).toEqual(['first'])
    Object.assign(published, { kids: ['revoked'], head: '3.33333333', age })
    follower.clock.advance(age * 1_000 + 2_001)
    await further(2)
    follower.clock.advance(2_001)
    await expect.poll(follower.log, soon).toContain('--accept-history 3.33333333')
    expect(await follower.readiness()).toBe(
      `the server has been set back or contradicts the log: ${project}\n`,
    )
    expect(kidsIn(out)).toEqual(['first'])
  },
)

test('one refusal before errors of a cache does not say that the server was set back', async () => {
  const follower = await follow()
  const metrics = async () => (await follower.get('/metrics')).text()
  await expect.poll(() => kidsIn(out), soon).toEqual(['first'])
  Object.assign(published, { kids: ['old'], head: '3.33333333' })
  await expect.poll(metrics, soon).toMatch(/refused_total\{.*\} [1-9]/m)
  behind = { kids: ['first'], head: '4.44444444', age: 5 }
  isStubborn = true
  Object.assign(published, { kids: ['second'], head: '5.55555555' })
  await further(4)
  follower.clock.advance(2_001)
  await expect.poll(follower.log, soon).toContain('A cache has jwks.json of 4.44444444')
  expect(await follower.readiness()).toBe('ok\n')
})

test('refusals that an unreachable server separates do not say that it was set back', async () => {
  const follower = await follow()
  await expect.poll(() => kidsIn(out), soon).toEqual(['first'])
  upcoming = [
    () => Object.assign(published, { kids: ['old'], head: '3.33333333' }),
    () => {
      isAway = true
      follower.clock.advance(60_000)
    },
    () => {
      isAway = false
    },
    () => Object.assign(published, { kids: ['second'], head: '5.55555555' }),
  ]
  await expect.poll(() => kidsIn(out), soon).toEqual(['second'])
  expect(follower.log()).toContain('502')
  expect(follower.log()).not.toContain('--accept-history')
})

test('a server that was set back is not shown as such while it is away', async () => {
  const follower = await follow()
  await expect.poll(() => kidsIn(out), soon).toEqual(['first'])
  Object.assign(published, { kids: ['old'], head: '3.33333333' })
  await further(1)
  follower.clock.advance(2_001)
  await expect.poll(follower.readiness, soon).toContain('set back')
  isAway = true
  await expect.poll(follower.readiness, soon).toBe('ok\n')
})

test('a copy of jwks.json that cannot be passed over for a moment is not reported', async () => {
  const follower = await follow()
  await expect.poll(() => kidsIn(out), soon).toEqual(['first'])
  upcoming = [
    () => {
      behind = { kids: ['third'], head: '6.66666666', age: 5 }
      isStubborn = true
      Object.assign(published, { kids: ['second'], head: '5.55555555' })
    },
    () => Object.assign(published, { kids: ['third'], head: '6.66666666' }),
  ]
  await expect.poll(() => kidsIn(out), soon).toEqual(['third'])
  expect(follower.log()).not.toContain('Project')
})

test('once a history is accepted, the copy of jwks.json of the lost one is not kept', async () => {
  Object.assign(published, { kids: ['revoked since'], head: '5.55555555' })
  await followOnce(await optionsOf(), context)
  behind = { kids: ['lost'], head: '5.55555555', age: 5 }
  isStubborn = true
  Object.assign(published, { kids: ['restored'], head: '3.33333333' })
  const options = await optionsOf({ acceptHistory: ['3.33333333'] })
  const words = 'A cache has jwks.json of 5.55555555, and jwks-full.json is of 3.33333333.'
  await expect(followOnce(options, context)).rejects.toThrow(words)
  expect(kidsIn(out)).toEqual(['revoked since'])
  isStubborn = false
  await followOnce(options, context)
  expect(kidsIn(out)).toEqual(['restored'])
})

test('with --log-key the history of a run without it counts, and its keys are not written', async () => {
  published.head = '7.77777777'
  await followOnce(await optionsOf(), context)
  rmSync(out)
  const log = await createMemoryLog()
  const options = await optionsOf({ logKey: formatVerifierKey(log.key) })
  Object.assign(published, { head: '6.66666666', age: 1_000 })
  await expect(followOnce(options, context)).rejects.toThrow(/--accept-history 6.66666666/)
  expect(kidsIn(out)).toBeUndefined()
})

test('with --log-key a key set that is older than the log is refused', async () => {
  const log = await createMemoryLog()
  const { kty, crv, x, y } = jwkOf('second')
  const thumbprint = hash('sha256', canonicalize({ kty, crv, x, y }) ?? '', 'base64url')
  const listed = { kid: 'second', alg: 'ES256', thumbprint }
  published.proof = await log.publish({ ledgerId: project, revision: 6 }, [listed])
  const options = await optionsOf({ logKey: formatVerifierKey(log.key) })
  await expect(followOnce(options, context)).rejects.toThrow(/is of revision 4, and the log has/)
  Object.assign(published, { kids: ['second'], head: '6' })
  await followOnce(options, context)
  expect(kidsIn(out)).toEqual(['second'])
})

test.each([
  [{ acceptHistory: ['12'] }, /--accept-history must be REVISION.HASH8/],
  [{ logKey: 'none' }, /none is not a verifier key/],
  [{ witnessKey: ['none'] }, /--witness-key needs --log-key/],
])('the options %j are rejected', async (flags, message) => {
  await expect(optionsOf(flags)).rejects.toThrow(message)
})
