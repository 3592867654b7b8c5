/** Works out what a number of verifiers needs, for docs/scaling.md, from measured costs. */
import type { Results } from './results.ts'
import { tableText } from './table.ts'

/** Assumptions, which are not measured. Rows of the model name them. */
const assumed = {
  interval: 300,
  verifiersPerProject: 1_000,
  keysPerProject: 10,
  replacementsPerYear: 4,
  locations: 100,
  regions: 5,
  verifiersPerFollower: 10,
  /** The share of a core that a process uses at the most. */
  busy: 0.5,
}

/** Defaults and constants of Pubring. */
const product = {
  maxAge: 60,
  /** Seconds that the client and the follower ask to wait. */
  wait: 25,
  heldPerProcess: 10_000,
  /** Key sets of ten keys in the 32 MiB that a process keeps. */
  keySetsInMemory: 5_000,
  /** The memory of a held request, by bench/held-requests.ts. */
  heldKib: 20,
}

const day = 86_400

/** CPU in microseconds, of Pubring and of PostgreSQL itself. */
interface Cost {
  server: number
  database: number
}

interface Costs {
  /** A key set that is requested so often that its copy is fresh. */
  popular: number
  compared: Cost
  missed: Cost
  held: Cost
  heldSecond: Cost
  keyBytes: number
  replacedBytes: number
}

function costsOf(model: Results, reads: Results): Costs {
  const find = (name: string, server: string) => {
    const figure = model.figures.find((each) => each.name === name && each.server === server)
    if (figure === undefined) throw new Error(`no result for ${name}, ${server}`)
    return figure.value.median
  }
  const cost = (name: string): Cost => ({
    server: find(name, 'PostgreSQL'),
    database: find(name, 'PostgreSQL itself'),
  })
  const popular = reads.reads.find(
    ({ operation, server }) => operation === 'JWKS, 200' && server === 'PostgreSQL',
  )
  if (popular === undefined) throw new Error('no result for JWKS, 200')
  return {
    popular: popular.micros.median,
    compared: cost('key set in memory, compared with the database'),
    missed: cost('key set that is not in memory'),
    held: cost('held request'),
    heldSecond: cost('held request, each second'),
    keyBytes: find('a P-256 key', 'PostgreSQL'),
    replacedBytes: find('a deleted P-256 key', 'PostgreSQL'),
  }
}

/** What one verifier and one key cost, from the measured costs. */
export function eachText(model: Results, reads: Results): string {
  const costs = costsOf(model, reads)
  const perDay = (micros: number, interval: number) =>
    `${rounded((micros * day) / interval / 1e3)} ms`
  const daily = [60, 300, 600].map((interval) => [
    `a verifier that fetches every ${interval} s: CPU a day if the copy is fresh (${rounded(costs.popular)} µs a request); if each request is compared with the database`,
    `${perDay(costs.popular, interval)}; ${perDay(costs.compared.server, interval)}`,
    `0; ${perDay(costs.compared.database, interval)}`,
  ])
  const held = heldMicros(costs)
  const { wait } = product
  const year = (costs.replacedBytes * assumed.replacementsPerYear) / 1024
  return tableText(
    ['', 'server', 'PostgreSQL itself'],
    [
      ...daily,
      [
        `a held request for its own project, sent again every ${wait} s: CPU a day`,
        perDay(held.server, wait),
        perDay(held.database, wait),
      ],
      [
        `a key that is replaced ${assumed.replacementsPerYear} times a year: 12 events, KiB a year`,
        '',
        rounded(year),
      ],
    ],
  )
}

function heldMicros({ held, heldSecond }: Costs): Cost {
  const total = (part: keyof Cost) => held[part] + product.wait * heldSecond[part]
  return { server: total('server'), database: total('database') }
}

/** The needs of each number of verifiers, as a table. */
export function sizesText(model: Results, reads: Results): string {
  const costs = costsOf(model, reads)
  const sizes = [1e4, 1e6, 1e8]
  const columns = sizes.map((verifiers) => sizeOf(verifiers, costs))
  const [first] = columns
  const rows = Object.keys(first ?? {}).map((name) => [
    name,
    ...columns.map((each) => each[name] ?? ''),
  ])
  return tableText(['verifiers', ...sizes.map((size) => size.toLocaleString('en'))], rows)
}

function sizeOf(verifiers: number, costs: Costs): Record<string, string> {
  const projects = verifiers / assumed.verifiersPerProject
  const keys = projects * assumed.keysPerProject
  const requests = verifiers / assumed.interval
  const fits = Math.min(1, product.keySetsInMemory / projects)
  const anyReplica = (part: keyof Cost) =>
    fits * costs.compared[part] + (1 - fits) * costs.missed[part]
  const spread = { server: anyReplica('server'), database: anyReplica('database') }
  const cdn = behindCache(verifiers, projects, assumed.locations)
  const shield = behindCache(verifiers, projects, 1)
  const shields = behindCache(verifiers, projects, assumed.regions)
  const followers = verifiers / assumed.verifiersPerFollower
  const answered = coresOf(followers / product.wait, costs.held)
  const fullProcesses = Math.max(2, Math.ceil(followers / product.heldPerProcess))
  const watched = coresOf(Math.min(followers, projects * fullProcesses), costs.heldSecond)
  const held = {
    server: answered.server + watched.server,
    database: answered.database + watched.database,
  }
  const routed = answered.database + coresOf(projects, costs.heldSecond).database
  const heldProcesses = (share: number) =>
    Math.max(
      processesOf(held.server / share),
      Math.ceil(followers / product.heldPerProcess / share),
    )
  return {
    'projects, with ten keys each': rounded(projects),
    '**no CDN**: requests a second': rounded(requests),
    ...needs(coresOf(requests, spread)),
    'cores, if each process gets several requests a second for a project': rounded(
      (requests * costs.popular) / 1e6,
    ),
    'cores, if a project’s requests go to one replica': rounded(
      coresOf(requests, costs.compared).server,
    ),
    '**CDN**, 100 locations: requests a second': rounded(cdn),
    ...needs(coresOf(cdn, spread), 'CDN'),
    '**CDN with a shield**: requests a second (five regions, a shield in each)': `${rounded(shield)} (${rounded(shields)})`,
    ...needs(coresOf(shield, spread), 'shield'),
    '**followers**, with or without a CDN: held requests': rounded(followers),
    'memory for them': bytesText(followers * product.heldKib * 1024),
    'cores for them; of the primary (followers)': coresText(held),
    'cores of the primary, if a project’s held requests are at one replica': rounded(routed),
    'processes for them in one region; in each of five': `${rounded(heldProcesses(1))}; ${rounded(heldProcesses(assumed.regions))}`,
    '**database**: its keys; its ledgers each year': `${bytesText(keys * costs.keyBytes)}; ${bytesText(keys * assumed.replacementsPerYear * costs.replacedBytes)}`,
  }
}

/** The rows of replicas that need this much CPU. */
function needs(cores: Cost, label = 'no CDN'): Record<string, string> {
  const [one, five] = [1, assumed.regions].map((share) => processesOf(cores.server / share))
  return {
    [`cores for them; of the primary (${label})`]: coresText(cores),
    [`processes in one region; in each of five (${label})`]: `${rounded(one ?? 0)}; ${rounded(five ?? 0)}`,
  }
}

/**
 * Requests per second that caches in this many places let through: each fetches a key set again with
 * the first request after `max-age`.
 */
function behindCache(verifiers: number, projects: number, places: number): number {
  const copies = projects * places
  const secondsBetween = (assumed.interval * copies) / verifiers
  return copies / (product.maxAge + secondsBetween)
}

function coresOf(perSecond: number, { server, database }: Cost): Cost {
  return { server: (perSecond * server) / 1e6, database: (perSecond * database) / 1e6 }
}

function processesOf(cores: number): number {
  return Math.max(2, Math.ceil(cores / assumed.busy))
}

const coresText = ({ server, database }: Cost) => `${rounded(server)}; ${rounded(database)}`

/** Two digits. */
function rounded(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en', { maximumFractionDigits: 6 })
}

function bytesText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  return `${rounded(bytes / 1024 ** power)} ${units[power]}`
}
