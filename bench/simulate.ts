/**
 * Simulates how long verifiers of each kind accept a deactivated key, in one region and in five, with
 * and without a CDN, and writes the table to bench/results/README.md. The same seed gives the same table.
 *
 *   npm run bench:simulate [-- --seed 1] [--verifiers 100000]
 */
import { readFileSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { tableText } from './report/table.ts'
import { type Kind, type Place, seededRandom, simulate } from './revocation/simulation.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    verifiers: { type: 'string', default: '100000' },
  },
})

const kinds: Kind[] = [
  { name: 'live key set' },
  { name: 'the follower, its file read every second', readsFile: 1 },
  { name: 'jose4j, nginx with njs', keeps: 60 },
  { name: 'PyJWT, Spring Security, Nimbus; the examples for Authlib and Rust', keeps: 300 },
  { name: 'jose, jwks-rsa, Envoy', keeps: 600 },
  { name: 'jwx', keeps: 900 },
  { name: 'keyfunc', keeps: 3_600 },
]

/** With replicas in each of five regions, the primary is up to 150 ms away. */
const places: Place[] = [
  { name: 'one region', maxAge: 0, toPrimary: 0.002 },
  { name: 'one region, CDN', maxAge: 60, toPrimary: 0.002 },
  { name: 'five regions', maxAge: 0, toPrimary: 0.15 },
  { name: 'five regions, CDN', maxAge: 60, toPrimary: 0.15 },
]

const seconds = (value: number) => (value < 10 ? value.toFixed(1) : value.toFixed(0))

/** Requests that wait do not go through the CDN. */
function rows(random: () => number, count: number): string[][] {
  return kinds.flatMap((kind) =>
    places
      .filter(({ maxAge }) => kind.keeps !== undefined || maxAge === 0)
      .map((place) => {
        const { median, p99, slowest } = simulate(kind, place, count, random)
        return [kind.name, place.name, ...[median, p99, slowest].map(seconds)]
      }),
  )
}

export function renderSimulation(page: string, seed: number, count: number): string {
  const head = ['verifier', 'replicas and verifiers', 'median, s', '99 %, s', 'slowest, s']
  const table = tableText(head, rows(seededRandom(seed), count))
  return page.replace(
    /(<!-- table: npm run bench:simulate -->\n)[\s\S]*?(<!-- end of table -->)/,
    (_, begin: string, end: string) => `${begin}\n${table}\n\n${end}`,
  )
}

if (import.meta.main) {
  const file = new URL('../bench/results/README.md', import.meta.url)
  const page = readFileSync(file, 'utf8')
  const rendered = renderSimulation(page, Number(values.seed), Number(values.verifiers))
  writeFileSync(file, rendered)
  process.stdout.write(
    rendered.match(/<!-- table: npm run bench:simulate[\s\S]*?<!-- end/)?.[0] ?? '',
  )
}
