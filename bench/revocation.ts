/**
 * How long a verifier trusts a deactivated key, counted from the response to the PATCH: the client's
 * live key set compared with jose's `createRemoteJWKSet`, both with default options and in real time.
 * Takes about 12 minutes, since jose caches a key set for 10. Writes bench/results/revocation.json and
 * the table of bench/results/README.md.
 *
 *   npm run bench:revocation [live]
 *
 * With `live`, which takes about 3 minutes, the rows of jose are kept from the last run.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { type Machine, machine } from './report/machine.ts'
import { spreadOf } from './report/spread.ts'
import { type BenchProject, createBenchProject } from './revocation/project.ts'
import { measureCached, measureCut, measureDirect, measureSlow } from './revocation/scenarios.ts'
import type { VerifierName } from './revocation/verifiers.ts'
import { createDatabases } from './server/databases.ts'
import { startServer } from './server/start.ts'

/** Default lifetime of a key set in a cache, in milliseconds. */
const maxAgeMs = 60_000

interface Row {
  verifier: VerifierName
  between: string
  /** Time of the measurement, UTC. */
  date: string
  times: number[]
}

const results = new URL('results/revocation.json', import.meta.url)
const page = new URL('results/README.md', import.meta.url)

type ProjectFactory = () => Promise<BenchProject>
const cache = 'a cache that drops `Prefer`, `max-age=60`'
const brokenConnection = 'a broken connection'

async function measureLive(newProject: ProjectFactory): Promise<Row[]> {
  const verifier = 'projectKeySet'
  const scenario = async () => ({ project: await newProject(), verifier, keys: 20 }) as const
  const direct = await row(verifier, 'nothing', measureDirect(await newProject(), 100))
  const others = await Promise.all([
    row(verifier, cache, measureCached({ ...(await scenario()), spreadMs: maxAgeMs })),
    row(verifier, brokenConnection, measureCut(await scenario(), 'cut')),
    row(verifier, 'a silent connection', measureCut(await scenario(), 'block')),
  ])
  return [direct, ...others]
}

async function measureJose(newProject: ProjectFactory): Promise<Row[]> {
  const verifier = 'createRemoteJWKSet'
  const scenario = async () => ({ project: await newProject(), verifier, keys: 5 }) as const
  return Promise.all([
    row(verifier, 'nothing', measureSlow(await scenario())),
    row(verifier, cache, measureCached(await scenario())),
    row(verifier, brokenConnection, measureCut(await scenario(), 'cut')),
  ])
}

async function measure(liveOnly: boolean): Promise<Row[]> {
  const databases = createDatabases()
  const server = await startServer(await databases.create('sqlite'))
  let count = 0
  const newProject = () => createBenchProject(server, `revocation-${count++}`)
  try {
    const jose = liveOnly ? storedRows('createRemoteJWKSet') : measureJose(newProject)
    return (await Promise.all([measureLive(newProject), jose])).flat()
  } finally {
    await server.close()
    await databases.close()
  }
}

/** The rows of the last run. */
function storedRows(name: VerifierName): Row[] {
  const { rows }: { rows: Row[] } = JSON.parse(readFileSync(results, 'utf8'))
  return rows.filter(({ verifier }) => verifier === name)
}

async function row(
  verifier: VerifierName,
  between: string,
  times: Promise<number[]>,
): Promise<Row> {
  const date = new Date().toISOString().slice(0, 16)
  return { verifier, between, date, times: await times }
}

function tableText(rows: Row[], { cpu, cores, node, load }: Machine): string {
  const lines = rows.map(({ verifier, between, times, date }) => {
    const [median, max] = [spreadOf(times).median, Math.max(...times)].map(durationText)
    return `| \`${verifier}\` | ${between} | ${times.length} | ${median} | ${max} | ${date} |`
  })
  return [
    '| verifier | in between | keys | median | maximum | measured (UTC) |',
    '|---|---|---|---|---|---|',
    ...lines,
    '',
    `${cpu}, ${cores} cores, Node ${node}, SQLite; load average before ${load}.`,
  ].join('\n')
}

function durationText(ms: number): string {
  return ms < 1_000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1_000).toFixed(1)} s`
}

const measuredOn = machine()
const rows = await measure(process.argv.includes('live'))
const table = tableText(rows, measuredOn)
mkdirSync(new URL('.', results), { recursive: true })
const rounded = rows.map((each) => ({
  ...each,
  times: each.times.map((ms) => Math.round(ms * 10) / 10),
}))
writeFileSync(results, `${JSON.stringify({ machine: measuredOn, rows: rounded }, null, 2)}\n`)
const marker = /(<!-- revocation -->\n)[\s\S]*?(<!-- end of revocation -->)/
const rendered = readFileSync(page, 'utf8').replace(
  marker,
  (_, begin, end) => `${begin}\n${table}\n\n${end}`,
)
writeFileSync(page, rendered)
process.stdout.write(`${table}\n`)
