import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Accepted } from '../../packages/intake/src/types.ts'
import type { Origin } from '../../packages/server/src/kernel/changes.ts'
import { newId } from '../../packages/server/src/kernel/values/ids.ts'
import { type BenchConfig, connections } from '../config.ts'
import { createFreshKeys } from '../fill/fresh-keys.ts'
import { recordOf } from '../fill/registry-rows.ts'
import type { LoadGenerator } from '../load/client.ts'
import type { Figure } from '../report/figures.ts'
import { shuffled, spreadOf } from '../report/spread.ts'
import { allCores } from '../server/cores.ts'
import type { BenchServer } from '../server/start.ts'
import type { BareMessage, BareTask } from './bare-writer.ts'
import { createCalls, createProjects, requireListed } from './calls.ts'

const keysPerProject = 10

/** Registers P-256 keys, 32 at once, and compares with a bare loop of the same statements. */
export async function measureEcCreates(
  generator: LoadGenerator,
  { rounds, ecKeys }: BenchConfig,
  servers: BenchServer[],
): Promise<Figure[]> {
  const keys = createFreshKeys()
  const bare = startBareWriter()
  const samples = new Map<BenchServer | 'bare', { rate: number; micros: number }[]>(
    [...servers, 'bare' as const].map((each) => [each, []]),
  )
  for (const server of servers) server.pin(allCores)
  try {
    // The first round is a warm-up.
    for (let round = -1; round < rounds; round += 1) {
      for (const [writer, list] of shuffled([...samples])) {
        const fresh = await keys.take(ecKeys)
        const sample =
          writer === 'bare'
            ? { rate: await bare.write(fresh), micros: 0 }
            : await registerEc(generator, writer, fresh)
        if (round >= 0) list.push(sample)
      }
    }
  } finally {
    await keys.close()
    bare.close()
  }
  return figures(samples)
}

/** Registers the keys in new projects; returns keys per second and the CPU time of each. */
export async function registerEc(generator: LoadGenerator, server: BenchServer, keys: Accepted[]) {
  const projects = await createProjects(server, Math.ceil(keys.length / keysPerProject))
  const pems = keys.map(({ key }) => key.publicKeyPem)
  const { port, pids } = server
  const { answered, seconds, cpuMicros, bodies } = await generator.run({
    port,
    pids,
    connections,
    calls: createCalls(server, projects, 'ES256', pems),
    keepBodies: true,
  })
  await requireListed(server, projects, bodies)
  return { rate: answered / seconds, micros: cpuMicros / answered }
}

function startBareWriter() {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-bare-'))
  const child = fork(new URL('./bare-writer.ts', import.meta.url), { serialization: 'advanced' })
  return {
    async write(keys: Accepted[]): Promise<number> {
      const changes = changesOf(keys)
      const files = { recorded: join(folder, 'recorded.db'), repeated: join(folder, 'repeated.db') }
      child.send({ ...files, ...changes, group: connections } satisfies BareTask)
      const [message]: BareMessage[] = await once(child, 'message')
      if (message === undefined || 'failed' in message) throw new Error(message?.failed)
      return message.perSecond
    },
    close() {
      child.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The changes that the same requests would cause. */
function changesOf(keys: Accepted[]): Pick<BareTask, 'projects' | 'keys'> {
  const time = new Date().toISOString()
  const origin = (): Origin => ({
    actor: { name: 'PUBRING_ADMIN_API_KEY', apiKeyId: newId() },
    requestId: newId(),
    time,
  })
  const ids = Array.from({ length: Math.ceil(keys.length / keysPerProject) }, newId)
  const limits = { maxKeys: 10_000, maxJwksBytes: 16_777_216 }
  return {
    projects: ids.map((id) => ({
      origin: origin(),
      id,
      name: `bench-${id.replaceAll('-', '')}`,
    })),
    keys: keys.map((accepted, index) => ({
      origin: origin(),
      limits,
      key: recordOf(ids[index % ids.length] ?? '', 'bench', accepted, time),
    })),
  }
}

function figures(samples: Map<BenchServer | 'bare', { rate: number; micros: number }[]>): Figure[] {
  const bare = samples.get('bare') ?? []
  const result: Figure[] = []
  for (const [writer, list] of samples) {
    const server = writer === 'bare' ? 'node:sqlite, bare loop' : writer.name
    const name = 'create P-256, 32 at once'
    result.push({
      name,
      server,
      unit: '/s',
      value: spreadOf(list.map(({ rate }) => rate)),
      ...(writer !== 'bare' && writer.engine === 'postgres' && { target: { min: 1_000 } }),
      note: 'durable creates per second',
    })
    if (writer === 'bare') continue
    result.push({
      name,
      server,
      unit: 'µs',
      value: spreadOf(list.map(({ micros }) => micros)),
      note: 'CPU per create',
    })
    if (writer.engine !== 'sqlite') continue
    result.push({
      name,
      server,
      unit: '×',
      value: spreadOf(list.map(({ rate }, round) => rate / (bare[round]?.rate ?? Number.NaN))),
      target: { min: 0.25 },
      note: 'creates per second over those of a bare loop of the same statements, in groups of 32',
    })
  }
  return result
}
