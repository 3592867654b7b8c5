import type { BenchConfig } from '../config.ts'
import { createFreshKeys } from '../fill/fresh-keys.ts'
import { cpuMicros } from '../load/usage.ts'
import type { Figure } from '../report/figures.ts'
import { shuffled, spreadOf } from '../report/spread.ts'
import { allCores } from '../server/cores.ts'
import type { BenchServer } from '../server/start.ts'
import { createProjects } from './calls.ts'

/** As many as the default settings allow. Each request is a transaction. */
const keysPerRequest = 1_000

/** Imports P-256 keys into a new project, by one request after the other. */
export async function measureImports(
  { rounds, importKeys }: BenchConfig,
  servers: BenchServer[],
): Promise<Figure[]> {
  const keys = createFreshKeys()
  const samples = new Map<BenchServer, { rate: number; micros: number }[]>(
    servers.map((server) => [server, []]),
  )
  for (const server of servers) server.pin(allCores)
  try {
    // The first round is a warm-up.
    for (let round = -1; round < rounds; round += 1) {
      for (const [server, list] of shuffled([...samples])) {
        const pems = (await keys.take(importKeys)).map(({ key }) => key.publicKeyPem)
        const sample = await importAll(server, pems)
        if (round >= 0) list.push(sample)
      }
    }
  } finally {
    await keys.close()
  }
  return [...samples].flatMap(([{ name: server }, list]) => figures(server, list))
}

/** Returns keys per second and the CPU time of each. */
async function importAll(server: BenchServer, pems: string[]) {
  const { replica, pids, name } = server
  const [project] = await createProjects(server, 1)
  const path = `/v1/projects/${project}/key-imports`
  const before = cpuMicros(pids)
  let millis = 0
  for (let from = 0; from < pems.length; from += keysPerRequest) {
    const part = pems.slice(from, from + keysPerRequest)
    const keys = part.map((publicKeyPem) => ({ name: 'bench', algorithm: 'ES256', publicKeyPem }))
    const { status, body, ms } = await replica.call('POST', path, { keys })
    const created = status === 200 ? JSON.parse(body).created : 0
    if (created !== keys.length) throw new Error(`${name} did not import all keys: ${body}`)
    millis += ms
  }
  const micros = (cpuMicros(pids) - before) / pems.length
  return { rate: (pems.length / millis) * 1_000, micros }
}

function figures(server: string, list: { rate: number; micros: number }[]): Figure[] {
  const name = 'import P-256'
  return [
    {
      name,
      server,
      unit: '/s',
      value: spreadOf(list.map(({ rate }) => rate)),
      target: { min: 3_000 },
      note: 'keys per second of one import, with 1,000 keys per request',
    },
    {
      name,
      server,
      unit: 'µs',
      value: spreadOf(list.map(({ micros }) => micros)),
      note: 'CPU per key of an import',
    },
  ]
}
