import { DatabaseSync } from 'node:sqlite'
import type { PostgresServer } from '../../test/support/postgres/server.ts'
import { createCalls, createProjects } from '../creates/calls.ts'
import { createFreshKeys } from '../fill/fresh-keys.ts'
import type { LoadGenerator } from '../load/client.ts'
import type { Call } from '../load/task.ts'
import type { Figure } from '../report/figures.ts'
import { spreadOf } from '../report/spread.ts'
import type { Engine } from '../server/databases.ts'
import type { BenchServer } from '../server/start.ts'

const projectCount = 100
const keysPerProject = 20
/** Few, so that none waits for a connection to the database for long. */
const connections = 8

/** Bytes of all live rows, and of the ledgers' events, each with indexes. */
interface Usage {
  all: number
  events: number
  eventRows: number
}

/** Bytes that one of the keys adds when it is registered, and once it is deleted again. */
export async function measureStorage(
  generator: LoadGenerator,
  server: BenchServer,
  usage: () => Promise<Usage>,
): Promise<Figure[]> {
  const source = createFreshKeys()
  const keys = await source.take(projectCount * keysPerProject)
  await source.close()
  const projects = await createProjects(server, projectCount)
  const run = async (calls: Call[]) => {
    const { port } = server
    return (await generator.run({ port, pids: [], connections, calls, keepBodies: true })).bodies
  }
  const empty = await usage()
  const pems = keys.map(({ key }) => key.publicKeyPem)
  await run(createCalls(server, projects, 'ES256', pems))
  const registered = await usage()
  const paths = await pathsOfKeys(server, projects)
  const headers = { 'X-Api-Key': server.replica.apiKey }
  const json = { ...headers, 'Content-Type': 'application/json' }
  const off = {
    method: 'PATCH',
    headers: json,
    body: '{"active":false}',
    expected: { status: 200 },
  }
  const gone = { method: 'DELETE', headers, expected: { status: 204 } }
  await run(paths.map((path) => ({ ...off, path })))
  await run(paths.map((path) => ({ ...gone, path })))
  const deleted = await usage()
  const figure = (name: string, value: number, note: string): Figure => ({
    name,
    server: server.name,
    unit: 'bytes',
    value: spreadOf([value]),
    note,
  })
  const perKey = (later: Usage) => (later.all - empty.all) / keys.length
  const eventRows = deleted.eventRows - empty.eventRows
  return [
    figure('a P-256 key', perKey(registered), 'its row and its first event, with indexes'),
    figure('an event', (deleted.events - empty.events) / eventRows, 'with indexes'),
    figure(
      'a deleted P-256 key',
      perKey(deleted),
      `its ${eventRows / keys.length} events, and what remains of its row`,
    ),
  ]
}

async function pathsOfKeys({ replica }: BenchServer, projects: string[]): Promise<string[]> {
  const lists = projects.map(async (project) => {
    const path = `/v1/projects/${project}/jwt-keys`
    const keys: { id: string }[] = JSON.parse((await replica.call('GET', path)).body)
    return keys.map(({ id }) => `${path}/${id}`)
  })
  return (await Promise.all(lists)).flat()
}

const sqliteUsage = `
  select sum(pgsize) as "all",
    sum(pgsize) filter (where tbl_name = 'event') as events,
    (select count(*) from event) as "eventRows"
  from dbstat join sqlite_schema using (name)`

/** Without dead rows, whose space is used again after a vacuum. */
const postgresUsage = `
  select sum(pg_total_relation_size(oid))::float as "all",
    pg_total_relation_size('event')::float as events,
    (select count(*)::float from event) as "eventRows"
  from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`

export function usageOf(engine: Engine, url: string, postgres: PostgresServer) {
  return async (): Promise<Usage> => {
    const row = engine === 'sqlite' ? ofSqlite(url) : await ofPostgres(url, postgres)
    const [all, events, eventRows] = [row?.all, row?.events, row?.eventRows].map(Number)
    if (!all || !events || !eventRows) throw new Error('the sizes of the tables are unknown')
    return { all, events, eventRows }
  }
}

function ofSqlite(url: string) {
  const database = new DatabaseSync(url.replace('sqlite:', ''), { readOnly: true })
  try {
    return database.prepare(sqliteUsage).get()
  } finally {
    database.close()
  }
}

async function ofPostgres(url: string, postgres: PostgresServer) {
  const database = new URL(url).pathname.slice(1)
  await postgres.query('vacuum full', database)
  return (await postgres.query(postgresUsage, database))[0]
}
