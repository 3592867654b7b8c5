/**
 * A day in fifteen minutes: two replicas behind the HAProxy of `deploy/`, on a PostgreSQL primary with a
 * synchronous standby, under load, while everything happens to them that an installation meets.
 *
 *   npm run test:day                   # as root on Linux, with HAProxy and Prometheus installed
 *   DAY_SECONDS=120 npm run test:day   # to develop it
 */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { findViolation, greatestLag } from '../../support/faults/linearizability.ts'
import { type Prometheus, startPrometheus } from '../../support/faults/prometheus.ts'
import {
  createRecordedLoad,
  type RecordedLoad,
  repeat,
} from '../../support/faults/recorded-load.ts'
import { recordFault } from '../../support/faults/results.ts'
import { ecKey, privatePem } from '../../support/keys/pem.ts'
import { type Balancer, startBalancer } from '../../support/network/balancer.ts'
import { type Cluster, startCluster } from '../../support/postgres/cluster.ts'
import { rememberSecret } from '../../support/secrets.ts'
import { createServerClient } from '../../support/server/client.ts'
import { pubring } from '../../support/server/command.ts'
import { makeNextRelease } from '../../support/server/next-release.ts'
import { temporaryFolder } from '../../support/server/process.ts'
import { createProject, createReplicas, type Replicas } from '../../support/server/replicas.ts'
import { type Episode, findFaultyAlerts } from './alerts.ts'
import { createLock, type Place, startPlace } from './fleet.ts'

const day = Number(process.env.DAY_SECONDS ?? 900) * 1_000
/** How much faster alerts are than in production: six times in fifteen minutes. */
const scale = day / 5_400_000
const projects = ['a', 'b', 'c']
const kills = 20

const { folder } = temporaryFolder()
const passwordFile = join(folder, 'password')
let cluster: Cluster
let replicas: Replicas
let places: [Place, Place]
let balancer: Balancer
let prometheus: Prometheus
beforeAll(async () => {
  const role = 'host all pubring 127.0.0.1/32 scram-sha-256\n'
  cluster = await startCluster(`${role}host all,replication postgres 127.0.0.1/32 trust\n`)
  await cluster.query("create role pubring login password 'none'")
  await changePassword()
  await cluster.query('create database pubring owner pubring')
  replicas = createReplicas(`postgres://pubring@${cluster.hosts}/pubring`)
  const settings = { PUBRING_DATABASE_PASSWORD_FILE: passwordFile }
  places = [
    await startPlace(replicas, join(folder, 'one'), settings),
    await startPlace(replicas, join(folder, 'other'), settings),
  ]
  balancer = await startBalancer('haproxy', [places[0].url, places[1].url])
  prometheus = await startPrometheus([places[0].metrics, places[1].metrics], scale)
}, 120_000)

let passwords = 0
/** As docs/scaling.md says: first in the database, then at once in the file. */
async function changePassword(): Promise<void> {
  passwords += 1
  const password = rememberSecret('a database password', `day-${passwords}-${crypto.randomUUID()}`)
  await cluster.query(`alter role pubring password '${password}'`)
  writeFileSync(`${passwordFile}.new`, `${password}\n`)
  renameSync(`${passwordFile}.new`, passwordFile)
}

const episodes: Episode[] = []
async function during(
  kind: Episode['kind'],
  work: () => Promise<unknown>,
  place?: Place,
): Promise<void> {
  const episode: Episode = {
    kind,
    from: Date.now(),
    to: Number.POSITIVE_INFINITY,
    ...(place === undefined ? {} : { instance: place.metrics }),
  }
  episodes.push(episode)
  await work()
  episode.to = Date.now()
}

/** Whether no replica could be expected to reach the database, or less than two seconds ago. */
function wasDatabaseAway(at: number): boolean {
  const kinds: Episode['kind'][] = ['fail-over', 'outage', 'full disk']
  return episodes.some(
    ({ kind, from, to }) => kinds.includes(kind) && at >= from && at <= to + 2_000,
  )
}

/** Events, each at a fraction of the day and after those before it in the same list. */
type Schedule = [at: number, work: () => Promise<unknown>][]

function databaseSchedule(lock: (work: () => Promise<void>) => Promise<void>): Schedule {
  const failOver = () => during('fail-over', () => cluster.failOver())
  const rotate = async () => {
    await changePassword()
    // Every replica has to open new connections.
    await cluster.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'pubring'",
    )
  }
  const fill = () =>
    during('full disk', async () => {
      const free = cluster.fillDisk()
      await delay(day * 0.03)
      await free()
    })
  const stop = () =>
    during('outage', async () => {
      const start = await cluster.stop()
      await delay(day * 0.03)
      await start()
    })
  return [
    [0.08, failOver],
    [0.12, rotate],
    [0.2, () => lock(fill)],
    [0.3, failOver],
    [0.42, () => lock(stop)],
    [0.55, failOver],
    [0.65, rotate],
    [0.75, failOver],
    [0.85, failOver],
  ]
}

function fleetSchedule(lock: (work: () => Promise<void>) => Promise<void>): Schedule {
  mkdirSync(join(folder, 'next'))
  const next = makeNextRelease(join(folder, 'next'))
  const roll = (program?: string) => async () => {
    for (const place of places)
      await lock(() => during('replacement', () => place.replace(program), place))
  }
  const hour = 3_600_000
  const setClocks = (one: number, other: number) => async () => {
    await places[0].setClock(one)
    await places[1].setClock(other)
  }
  return [
    [0.1, setClocks(hour, 0)],
    [0.14, roll(next)],
    [0.26, setClocks(hour, -hour)],
    [0.34, roll()],
    [0.48, () => lock(() => during('long death', () => places[1].kill(day * 0.03), places[1]))],
    [0.58, setClocks(-hour, hour)],
    [0.62, roll(next)],
    [0.72, setClocks(0, 0)],
    [0.8, roll()],
  ]
}

function killSchedule(lock: (work: () => Promise<void>) => Promise<void>): Schedule {
  return Array.from({ length: kills }, (_, index) => {
    const at = 0.03 + (0.94 * (index + Math.random() / 2)) / kills
    const place = places[Math.random() < 0.5 ? 0 : 1]
    return [at, () => lock(() => during('kill', () => place.kill(), place))]
  })
}

/** Faults of callers and of data, each of which has an alert. */
function alertSchedule(apiKey: string): Schedule {
  const client = createServerClient(balancer, apiKey)
  const keys = '/v1/projects/side/jwt-keys'
  /** Repeats a request until it succeeds: the database may be away. */
  async function insist(method: string, path: string, body?: object): Promise<string> {
    for (;;) {
      const response = await client.send(method, path, body)
      if (response !== undefined && response.status < 300) return response.text
      await delay(500)
    }
  }
  const key = (more: object = {}) => ({
    name: 'k',
    algorithm: 'ES256',
    publicKeyPem: ecKey().publicKeyPem,
    ...more,
  })
  let brief = ''
  const near: Episode = { kind: 'key near its expiry', from: 0, to: 0 }
  const submitPrivateKey = async () => {
    // The count of a replica that is killed before the next scrape is lost.
    for (let count = 0; count < 3; count += 1) {
      const body = key({ publicKeyPem: privatePem(ecKey()) })
      while ((await client.send('POST', keys, body))?.status !== 400) await delay(500)
      await delay(4_000)
    }
  }
  const registerBriefKey = async () => {
    near.from = Date.now()
    near.to = Number.POSITIVE_INFINITY
    episodes.push(near)
    const expireTime = new Date(Date.now() + 12 * 3_600_000).toISOString()
    brief = JSON.parse(await insist('POST', keys, key({ name: 'brief', expireTime }))).kid
  }
  const replaceBriefKey = async () => {
    await insist('POST', keys, key())
    await insist('PATCH', `${keys}/${brief}`, { active: false })
    near.to = Date.now()
  }
  const sendWrongApiKeys = async () => {
    const until = Date.now() + day * 0.22
    const stranger = createServerClient(balancer, `${apiKey.slice(0, -1)}!`)
    while (Date.now() < until) {
      await stranger.send('GET', keys)
      await delay(300)
    }
  }
  const damageKey = async () => {
    const kid = JSON.parse(await insist('POST', keys, key())).kid
    const jwk = `update jwt_key set jwk = replace(jwk,`
    await cluster.query(`${jwk} 'P-256', 'P-257') where id = '${kid}'`, 'pubring')
    await insist('POST', keys, key())
    await delay(day * 0.04)
    await cluster.query(`${jwk} 'P-257', 'P-256') where id = '${kid}'`, 'pubring')
    await insist('POST', keys, key())
  }
  return [
    [0.05, () => during('private key', submitPrivateKey)],
    [0.1, registerBriefKey],
    [0.18, () => during('wrong API keys', sendWrongApiKeys)],
    [0.42, replaceBriefKey],
    [0.59, () => during('damaged key', damageKey)],
  ]
}

async function follow(schedule: Schedule, started: number, signal: AbortSignal): Promise<void> {
  for (const [at, work] of schedule) {
    await delay(Math.max(0, started + at * day - Date.now()), undefined, { signal })
    await work()
  }
}

/** Six clients for each project, whose requests all go through the balancer. */
function startLoad(apiKey: string, signal: AbortSignal): [RecordedLoad[], Promise<void>[]] {
  const loads = projects.map((name) => createRecordedLoad(() => balancer.url, apiKey, name))
  const clients = loads.flatMap(({ write, list, look, follow: wait }) => [
    repeat(write, 300, signal),
    repeat(write, 300, signal),
    repeat(list, 400, signal),
    repeat(look, 200, signal),
    repeat(look, 200, signal),
    repeat(wait, 50, signal),
  ])
  // Its damaged key shows only where keys are read: a key set is served from the published one.
  const { list } = createRecordedLoad(() => balancer.url, apiKey, 'side')
  return [loads, [...clients, repeat(list, 500, signal)]]
}

/** Alerts end with their ranges: `[5m]` and `for: 5m` with a count of the keys per minute. */
const slack = 75_000 + 600_000 * scale

async function waitUntilQuiet(): Promise<void> {
  const until = Date.now() + slack
  const isFiring = async () =>
    (await prometheus.firings()).some(({ to }) => Date.now() - to < 3_000)
  while (Date.now() < until && (await isFiring())) await delay(2_000)
}

const sum = (counts: Record<string, number>[], isCounted = (_status: string) => true) =>
  counts
    .flatMap((each) => Object.entries(each))
    .reduce((total, [status, count]) => total + (isCounted(status) ? count : 0), 0)

test('a day in fifteen minutes: nothing acknowledged is lost, key sets are always there, alerts fire once and clear', async () => {
  const [anyReplica] = replicas.all()
  if (anyReplica === undefined) throw new Error('no replica')
  for (const name of [...projects, 'side']) await createProject(anyReplica, name)
  const { apiKey } = anyReplica
  const ending = new AbortController()
  const [loads, clients] = startLoad(apiKey, ending.signal)
  const lock = createLock()
  const started = Date.now()
  try {
    const schedules = [
      databaseSchedule(lock),
      fleetSchedule(lock),
      killSchedule(lock),
      alertSchedule(apiKey),
    ]
    await Promise.all(schedules.map((each) => follow(each, started, ending.signal)))
    await delay(Math.max(0, started + day - Date.now()))
  } finally {
    ending.abort()
    await Promise.all(clients)
  }
  for (const load of loads) await load.complete()
  await waitUntilQuiet()
  const firings = await prometheus.firings()
  const url = `postgres://postgres@${cluster.hosts}/pubring`
  const verified = await pubring(folder, 'ledger', 'verify', '--database-url', url)

  const published = loads.map(({ statuses }) => statuses.published)
  const api = loads.map(({ statuses }) => statuses.api)
  const changes = loads.flatMap(({ history }) => history.writes)
  const acknowledged = changes.filter(({ answered }) => Number.isFinite(answered)).length
  const lists = loads.reduce((total, { history }) => total + history.lists.length, 0)
  const lag = Math.max(...loads.map(({ history }) => greatestLag(history, 'fresh')))
  const stale = loads.flatMap(({ history }) =>
    history.published.flatMap(({ answered, staleMs }) =>
      staleMs === undefined ? [] : [performance.timeOrigin + answered],
    ),
  )
  const count = (kind: Episode['kind']) => episodes.filter((each) => each.kind === kind).length
  const summary = {
    seconds: Math.round((Date.now() - started) / 1_000),
    published,
    api,
    lag,
    staleLag: Math.max(...loads.map(({ history }) => greatestLag(history, 'stale'))),
    stale: stale.length,
    staleWithoutCause: stale
      .filter((at) => !wasDatabaseAway(at))
      .map((at) => Math.round(at - started)),
    slowest: Math.max(...loads.map(({ slowest }) => slowest)),
    violations: loads.map(({ history }) => findViolation(history)),
    episodes: episodes.map((each) => ({
      ...each,
      from: each.from - started,
      to: each.to - started,
    })),
    firings: firings.map((each) => ({ ...each, from: each.from - started, to: each.to - started })),
    faultyAlerts: findFaultyAlerts(firings, episodes, slack),
    failures: loads.flatMap(({ failures }) =>
      failures.map((each) => ({ ...each, at: each.at - started })),
    ),
    verified,
  }
  mkdirSync('test-results/day', { recursive: true })
  writeFileSync('test-results/day/summary.json', `${JSON.stringify(summary, null, 2)}\n`)
  for (const [index, replica] of replicas.all().entries())
    writeFileSync(`test-results/day/${index}.log`, replica.output())

  expect(summary.violations).toEqual(projects.map(() => undefined))
  expect(summary.staleWithoutCause).toEqual([])
  // A key set is there for every request; a held one may end unchanged.
  expect(sum(published, (status) => status !== '200' && status !== '304')).toBe(0)
  const expected = ['0', '200', '201', '204', '404', '409', '502', '503', '504']
  expect(api.flatMap(Object.keys).filter((status) => !expected.includes(status))).toEqual([])
  expect(verified, verified.stderr).toMatchObject({ code: 0 })
  expect(firings.filter(({ to }) => Date.now() - to < 3_000)).toEqual([])
  expect(summary.faultyAlerts).toEqual([])
  const alerts = new Set(firings.map(({ alert }) => alert)).size
  recordFault({
    fault: 'A day in fifteen minutes (PostgreSQL, HAProxy, Prometheus)',
    observed: `${changes.length} changes (${changes.length - acknowledged} with an unknown outcome) and ${lists} lists with ${count('fail-over')} fail-overs and ${kills} kills: linearizable; ${sum(published)} key sets, all available, at most ${Math.round(lag)} ms behind; ${alerts} alerts fired once for their cause and cleared`,
    acknowledged,
    lost: 0,
  })
})
