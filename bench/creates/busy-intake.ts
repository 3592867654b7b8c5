import { setTimeout as delay } from 'node:timers/promises'
import { createProject, type Replica, registerKey } from '../../test/support/server/replicas.ts'
import { type LoadGenerator, startGenerator } from '../load/client.ts'
import type { Call, Latency } from '../load/task.ts'
import type { Figure } from '../report/figures.ts'
import { spreadOf } from '../report/spread.ts'
import { captureCall } from '../server/capture.ts'
import { allCores } from '../server/cores.ts'
import type { BenchServer } from '../server/start.ts'
import { rsaGroups } from './rsa-moduli.ts'

export const clients = 4
const measureSeconds = 8
const warmUpSeconds = 2
const primeCount = 64
/** Requests per second for each of list and health. */
const rate = 200

type Latencies = Record<'list' | 'health', Latency>

/** Latencies of one round: of an idle server, or while keys are registered. */
export interface BusyRound extends Latencies {
  load: 'none' | 'RSA-4096'
  keysPerSecond: number
}

/** Registers keys from several clients until stopped. */
function registerAll(replica: Replica, keys: Iterator<[project: string, publicKeyPem: string]>) {
  let stopped = false
  let registered = 0
  const client = async () => {
    for (let next = keys.next(); !stopped; next = keys.next()) {
      if (next.done === true) throw new Error('there were too few keys to register')
      await registerKey(replica, ...next.value, 'RS256')
      registered += 1
    }
  }
  const done = Promise.all(Array.from({ length: clients }, client))
  return {
    /** Resolves with the number of registered keys. */
    async stop() {
      stopped = true
      await done
      return registered
    },
  }
}

/** A generator for each of the two requests, on any core, since the intake uses all of them. */
function createMeter(calls: Record<keyof Latencies, Call>, port: number) {
  const generators = { list: startGenerator(allCores), health: startGenerator(allCores) }
  const latency = async (generator: LoadGenerator, call: Call, seconds: number) => {
    const task = { port, pids: [], connections: 32, calls: [call], seconds, rate }
    return (await generator.run(task)).latency
  }
  return {
    async measure(seconds: number): Promise<Latencies> {
      const [list, health] = await Promise.all([
        latency(generators.list, calls.list, seconds),
        latency(generators.health, calls.health, seconds),
      ])
      return { list, health }
    },
    close() {
      generators.list.close()
      generators.health.close()
    },
  }
}

/**
 * Latencies of the list of keys and the health page at a steady rate, while RSA-4096 keys are
 * registered as fast as possible, and without that load.
 */
export async function* busyRounds(
  { replica, port }: Pick<BenchServer, 'replica' | 'port'>,
  rounds: number,
): AsyncGenerator<BusyRound> {
  const groups = await rsaGroups(4_096, primeCount)
  const [listed, ...others] = groups.map((pems, index) => ({
    pems,
    project: `bench-busy-${index}`,
  }))
  if (listed === undefined) return
  for (const { project } of [listed, ...others]) await createProject(replica, project)
  for (const pem of listed.pems.slice(0, 3)) {
    await registerKey(replica, listed.project, pem, 'RS256')
  }
  const keys = others
    .flatMap(({ pems, project }) => pems.map((pem): [string, string] => [project, pem]))
    .values()
  const headers = { 'X-Api-Key': replica.apiKey }
  const listPath = `/v1/projects/${listed.project}/jwt-keys`
  const list = await captureCall(port, { method: 'GET', path: listPath, headers })
  const health = await captureCall(port, { method: 'GET', path: '/health/live', headers })
  const meter = createMeter({ list, health }, port)
  try {
    await meter.measure(warmUpSeconds)
    for (let round = 0; round < rounds; round += 1) {
      yield { load: 'none', keysPerSecond: 0, ...(await meter.measure(measureSeconds)) }
      const start = performance.now()
      const registering = registerAll(replica, keys)
      const latencies = await meter.measure(measureSeconds)
      const registered = await registering.stop()
      const keysPerSecond = (registered * 1_000) / (performance.now() - start)
      yield { load: 'RSA-4096', keysPerSecond, ...latencies }
      await delay(500)
    }
  } finally {
    meter.close()
  }
}

export async function measureBusyIntake(server: BenchServer, rounds: number): Promise<Figure[]> {
  if (rounds === 0) return []
  const measured: BusyRound[] = []
  for await (const round of busyRounds(server, rounds)) measured.push(round)
  const p99 = (load: BusyRound['load']) =>
    spreadOf(measured.filter((round) => round.load === load).map(({ list }) => list.p99))
  const name = 'list of 3 keys, p99'
  return [
    {
      name,
      server: server.name,
      unit: 'ms',
      value: p99('none'),
      note: `${rate} requests a second`,
    },
    {
      name: `${name}, while RSA-4096 keys are registered`,
      server: server.name,
      unit: 'ms',
      value: p99('RSA-4096'),
      target: { max: 20 },
      note: `the same, while ${clients} clients register as fast as they can`,
    },
  ]
}
