import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { BenchConfig } from '../config.ts'
import type { LoadGenerator } from '../load/client.ts'
import type { Figure } from '../report/figures.ts'
import { shuffled, spreadOf } from '../report/spread.ts'
import { allCores } from '../server/cores.ts'
import type { BenchServer } from '../server/start.ts'
import { createCalls, createProjects, requireListed } from './calls.ts'
import { rsaGroups } from './rsa-moduli.ts'

const primeCount = 48
const groupSize = primeCount / 2
/** Few, so that the intake's threads reject no key as overloaded. */
const clients = 4

/** New RSA-2048 keys, one group per project. */
export const createRsaGroups = () => rsaGroups(2_048, primeCount)

/** Registers RSA-2048 keys, and compares with the intake's checks of the same keys alone. */
export async function measureRsaCreates(
  generator: LoadGenerator,
  { rounds, rsaKeys }: BenchConfig,
  servers: BenchServer[],
): Promise<Figure[]> {
  const groups = await createRsaGroups()
  const intake = fork(new URL('./intake-cost.ts', import.meta.url))
  const samples = new Map<BenchServer, { micros: number; ratio: number }[]>(
    servers.map((server) => [server, []]),
  )
  const intakeAlone: number[] = []
  for (const server of servers) server.pin(allCores)
  try {
    // The first round is a warm-up.
    for (let round = -1; round < rounds; round += 1) {
      const chosen = shuffled(groups).slice(0, Math.ceil(rsaKeys / groupSize))
      intake.send(chosen.flat())
      const [intakeMicros = Number.NaN]: number[] = await once(intake, 'message')
      for (const [server, list] of shuffled([...samples])) {
        const micros = await registerRsa(generator, server, chosen)
        if (round >= 0) list.push({ micros, ratio: micros / intakeMicros })
      }
      if (round >= 0) intakeAlone.push(intakeMicros)
    }
  } finally {
    intake.kill()
  }
  return figures(samples, intakeAlone)
}

/** Registers each group in a project of its own; returns the CPU time per key. */
export async function registerRsa(
  generator: LoadGenerator,
  server: BenchServer,
  groups: string[][],
): Promise<number> {
  const projects = await createProjects(server, groups.length)
  const pems = Array.from({ length: groupSize }, (_, place) =>
    groups.map((group) => group[place] ?? ''),
  )
  const { port, pids } = server
  const { answered, cpuMicros, bodies } = await generator.run({
    port,
    pids,
    connections: clients,
    calls: createCalls(server, projects, 'RS256', pems.flat()),
    keepBodies: true,
  })
  await requireListed(server, projects, bodies)
  return cpuMicros / answered
}

function figures(
  samples: Map<BenchServer, { micros: number; ratio: number }[]>,
  intakeAlone: number[],
): Figure[] {
  const name = 'create RSA-2048'
  const result: Figure[] = [
    {
      name,
      server: 'intake alone',
      unit: 'µs',
      value: spreadOf(intakeAlone),
      note: 'CPU of the checks of one key, in a process that does nothing else',
    },
  ]
  for (const [server, list] of samples) {
    result.push({
      name,
      server: server.name,
      unit: 'µs',
      value: spreadOf(list.map(({ micros }) => micros)),
      note: 'CPU per create',
    })
    result.push({
      name,
      server: server.name,
      unit: '×',
      value: spreadOf(list.map(({ ratio }) => ratio)),
      target: { max: 1.25 },
      note: 'CPU per create over that of the intake alone',
    })
  }
  return result
}
