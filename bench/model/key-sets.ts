import { connections } from '../config.ts'
import type { LoadGenerator } from '../load/client.ts'
import type { Call } from '../load/task.ts'
import { cpuMicros } from '../load/usage.ts'
import type { Figure } from '../report/figures.ts'
import { spreadOf } from '../report/spread.ts'
import { openRegistry } from '../scale/registry.ts'
import { capture } from '../server/capture.ts'
import type { BenchServer } from '../server/start.ts'

/**
 * Projects whose key sets fit into the memory of one process, requested once a second each, so that
 * every request has its copy compared with the database.
 */
const projectsInMemory = 4_000
const comparedRate = 4_000
const heldRequests = 1_000
/** Seconds. The difference between two waits gives the cost of each second, and the rest is the cost of a request. */
const [shortWait, longWait] = [2, 6]
const secondsOfWaits = 30

/** A server on a filled registry, and the present processes of its database; none for SQLite. */
export interface Subject {
  server: BenchServer
  databasePids: () => number[]
}

interface Cost {
  server: number
  database: number
}

/**
 * CPU of the server and of its database for key sets that are not in memory, that are and have to be
 * compared with the database, and for requests that wait for changes.
 */
export async function measureKeySets(
  generator: LoadGenerator,
  subject: Subject,
): Promise<Figure[]> {
  const run = (load: Load) => measure(generator, subject, load)
  const { projects } = await openRegistry(subject.server)
  return [
    ...(await measureReads(run, subject, projects)),
    ...(await measureHeld(run, subject, projects.slice(0, heldRequests))),
  ]
}

type Run = (load: Load) => Promise<Cost>

const get = (project: string, headers = {}) => ({
  method: 'GET',
  path: `/v1/projects/${project}/.well-known/jwks.json`,
  headers,
})

async function measureReads(run: Run, { server }: Subject, projects: string[]): Promise<Figure[]> {
  const [any = ''] = projects
  const length = Buffer.byteLength((await capture(server.port, get(any))).body)
  const calls = projects.map((project) => ({ ...get(project), expected: { status: 200, length } }))
  await run({ calls, connections })
  // Finds as little in memory as the first pass.
  const missed = await run({ calls, connections })
  const pass = { calls: calls.slice(0, projectsInMemory), connections, rate: comparedRate }
  await run({ ...pass, seconds: 2 })
  const compared = await run({ ...pass, seconds: 8 })
  return [
    ...figures(server, 'key set that is not in memory', missed, 'CPU per request'),
    ...figures(
      server,
      'key set in memory, compared with the database',
      compared,
      'CPU per request',
    ),
  ]
}

async function measureHeld(run: Run, { server }: Subject, projects: string[]): Promise<Figure[]> {
  const tags = await etagsOf(server, projects)
  const waiting = (seconds: number) => {
    const calls = projects.map((project, index) => ({
      ...get(project, { 'If-None-Match': tags[index] ?? '', Prefer: `wait=${seconds}` }),
      expected: { status: 304 },
    }))
    const times = secondsOfWaits / seconds
    return run({ calls: Array(times).fill(calls).flat(), connections: heldRequests })
  }
  const [short, long] = [await waiting(shortWait), await waiting(longWait)]
  const second = each((part) => (long[part] - short[part]) / (longWait - shortWait))
  const once = each((part) => short[part] - shortWait * second[part])
  return [
    ...figures(server, 'held request', once, 'CPU to take it and to answer it'),
    ...figures(
      server,
      'held request, each second',
      second,
      'CPU while it waits for its own project',
    ),
  ]
}

const each = (costOf: (part: keyof Cost) => number): Cost => ({
  server: Math.max(0, costOf('server')),
  database: Math.max(0, costOf('database')),
})

function figures(server: BenchServer, name: string, cost: Cost, note: string): Figure[] {
  const figure = (of: string, value: number): Figure => ({
    name,
    server: of,
    unit: 'µs',
    value: spreadOf([value]),
    note,
  })
  const { engine } = server
  return engine === 'sqlite'
    ? [figure(server.name, cost.server)]
    : [figure(server.name, cost.server), figure('PostgreSQL itself', cost.database)]
}

interface Load {
  calls: Call[]
  seconds?: number
  rate?: number
  connections: number
}

async function measure(
  generator: LoadGenerator,
  { server, databasePids }: Subject,
  load: Load,
): Promise<Cost> {
  const { port, pids } = server
  const before = cpuMicros(databasePids())
  const result = await generator.run({ port, pids, ...load })
  const database = (cpuMicros(databasePids()) - before) / result.answered
  return { server: result.cpuMicros / result.answered, database }
}

async function etagsOf({ port }: BenchServer, projects: string[]): Promise<string[]> {
  const tags: string[] = []
  for (const project of projects) {
    const { headers } = await capture(port, get(project))
    tags.push(headers[headers.findIndex((name) => name.toLowerCase() === 'etag') + 1] ?? '')
  }
  return tags
}
