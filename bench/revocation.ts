/**
 * How long a verifier trusts a key that was deactivated, from the answer to the PATCH on: the live key
 * set of the client beside jose's `createRemoteJWKSet`, both at their defaults and in real time. Takes
 * about 12 minutes, since jose keeps a key set for 10. Writes bench/results/revocation.json and the
 * table of docs/verifying.md.
 *
 *   npm run bench:revocation [live]
 *
 * With `live`, which takes about 3 minutes, the rows of jose stay as they were measured before.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { type Machine, machine } from './report/machine.ts'
import { spreadOf } from './report/spread.ts'
import { measureCached, measureCut, measureDirect, measureSlow } from './revocation/scenes.ts'
import { createRegistry, type Registry } from './revocation/service.ts'
import type { VerifierName } from './revocation/trust.ts'
import { createDatabases, startSubject } from './server/subject.ts'

/** Milliseconds for which a cache keeps a key set, by default. */
const maxAge = 60_000

interface Row {
  verifier: VerifierName
  between: string
  /** When it was measured, UTC. */
  date: string
  times: number[]
}

const results = new URL('results/revocation.json', import.meta.url)
const page = new URL('../docs/verifying.md', import.meta.url)

type Registries = () => Promise<Registry>
const cache = 'a cache that drops `Prefer`, `max-age=60`'

async function measureLive(registry: Registries): Promise<Row[]> {
  const name = 'projectKeySet'
  const direct = await row(name, 'nothing', measureDirect(await registry(), 100))
  const others = await Promise.all([
    row(name, cache, measureCached(await registry(), name, 20, maxAge)),
    row(name, 'a line that is cut', measureCut(await registry(), name, 20, 'cut')),
    row(name, 'a line gone silent', measureCut(await registry(), name, 20, 'block')),
  ])
  return [direct, ...others]
}

async function measureJose(registry: Registries): Promise<Row[]> {
  const name = 'createRemoteJWKSet'
  return Promise.all([
    row(name, 'nothing', measureSlow(await registry(), name, 5)),
    row(name, cache, measureCached(await registry(), name, 5, 0)),
    row(name, 'a line that is cut', measureCut(await registry(), name, 5, 'cut')),
  ])
}

async function measure(liveAlone: boolean): Promise<Row[]> {
  const databases = createDatabases()
  const subject = await startSubject(await databases.make('sqlite'))
  let made = 0
  const registry = () => createRegistry(subject, `revocation-${made++}`)
  try {
    const jose = liveAlone ? loadRows('createRemoteJWKSet') : measureJose(registry)
    return (await Promise.all([measureLive(registry), jose])).flat()
  } finally {
    await subject.close()
    await databases.close()
  }
}

/** The rows of an earlier run. */
async function loadRows(name: VerifierName): Promise<Row[]> {
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

function text(rows: Row[], { cpu, cores, node, load }: Machine): string {
  const lines = rows.map(({ verifier, between, times, date }) => {
    const [median, most] = [spreadOf(times).median, Math.max(...times)].map(timeText)
    return `| \`${verifier}\` | ${between} | ${times.length} | ${median} | ${most} | ${date} |`
  })
  return [
    '| verifier | in between | keys | median | maximum | measured (UTC) |',
    '|---|---|---|---|---|---|',
    ...lines,
    '',
    `${cpu}, ${cores} cores, Node ${node}, SQLite; load average before ${load}.`,
  ].join('\n')
}

function timeText(milliseconds: number): string {
  return milliseconds < 1_000
    ? `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`
    : `${(milliseconds / 1_000).toFixed(1)} s`
}

const place = machine()
const rows = await measure(process.argv.includes('live'))
const table = text(rows, place)
mkdirSync(new URL('.', results), { recursive: true })
const figures = rows.map((each) => ({
  ...each,
  times: each.times.map((time) => Math.round(time * 10) / 10),
}))
writeFileSync(results, `${JSON.stringify({ machine: place, rows: figures }, null, 2)}\n`)
const between = /(<!-- revocation -->\n)[\s\S]*?(<!-- end of revocation -->)/
const written = readFileSync(page, 'utf8').replace(
  between,
  (_, begin, end) => `${begin}\n${table}\n\n${end}`,
)
writeFileSync(page, written)
process.stdout.write(`${table}\n`)
