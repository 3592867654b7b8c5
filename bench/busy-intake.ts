import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { rsaGroups } from './creates/rsa-moduli.ts'
import type { Latencies, LatencyTask } from './latency.ts'
import type { Figure } from './report/figures.ts'
import { spreadOf } from './report/spread.ts'
import type { Subject } from './server/subject.ts'

export const clients = 4
const seconds = 8
const primeCount = 64

/** What others felt in one round: alone, or while keys were registered. */
export interface BusyRound extends Latencies {
  load: 'none' | 'RSA-4096'
  keysPerSecond: number
}

type Replica = Subject['replica']

/** Registers keys from several clients until it is told to stop; answers how many were taken. */
function registerAll(replica: Replica, keys: Iterator<[project: string, publicKeyPem: string]>) {
  const run = { stopped: false, registered: 0 }
  const client = async () => {
    for (let next = keys.next(); !run.stopped; next = keys.next()) {
      if (next.done === true) throw new Error('there were too few keys to register')
      const [project, publicKeyPem] = next.value
      const body = { name: 'bench', algorithm: 'RS256', publicKeyPem }
      const answer = await replica.call('POST', `/v1/projects/${project}/jwt-keys`, body)
      if (answer.status !== 201) throw new Error(`no key: ${answer.status} ${answer.body}`)
      run.registered += 1
    }
  }
  const done = Promise.all(Array.from({ length: clients }, client))
  return {
    async stop() {
      run.stopped = true
      await done
      return run.registered
    },
  }
}

async function measure(task: LatencyTask): Promise<Latencies> {
  const child = fork(new URL('./latency.ts', import.meta.url))
  child.send(task)
  const [answer] = await once(child, 'message')
  return answer
}

/**
 * The time that the list of keys and the health page take, asked by another process at a steady pace,
 * while RSA-4096 keys are registered as fast as they can be; beside the same without load.
 */
export async function* busyRounds(
  { replica }: Pick<Subject, 'replica'>,
  rounds: number,
): AsyncGenerator<BusyRound> {
  const groups = await rsaGroups(4_096, primeCount)
  const named = groups.map((group, index) => ({ group, project: `bench-busy-${index}` }))
  for (const { project } of named) await replica.call('POST', '/v1/projects', { name: project })
  const [listed, ...others] = named.map(({ group, project }) =>
    group.map((pem): [string, string] => [project, pem]),
  )
  for (const [project, publicKeyPem] of listed?.slice(0, 3) ?? []) {
    const body = { name: 'listed', algorithm: 'RS256', publicKeyPem }
    await replica.call('POST', `/v1/projects/${project}/jwt-keys`, body)
  }
  const keys = others.flat().values()
  const { url, apiKey } = replica
  const task = { url, apiKey, project: 'bench-busy-0', seconds }
  // Caches and compilers are warm before anything is measured.
  await measure({ ...task, seconds: 2 })
  for (let round = 0; round < rounds; round += 1) {
    yield { load: 'none', keysPerSecond: 0, ...(await measure(task)) }
    const began = performance.now()
    const registering = registerAll(replica, keys)
    const latencies = await measure(task)
    const registered = await registering.stop()
    const keysPerSecond = (registered * 1_000) / (performance.now() - began)
    yield { load: 'RSA-4096', keysPerSecond, ...latencies }
    await delay(500)
  }
}

export async function measureBusyIntake(subject: Subject, rounds: number): Promise<Figure[]> {
  const seen: BusyRound[] = []
  if (rounds === 0) return []
  for await (const round of busyRounds(subject, rounds)) seen.push(round)
  const p99 = (load: BusyRound['load']) =>
    spreadOf(seen.filter((round) => round.load === load).map(({ list }) => list.p99))
  const name = 'list of 3 keys, p99'
  return [
    { name, server: subject.name, unit: 'ms', value: p99('none'), note: '200 requests a second' },
    {
      name: `${name}, while RSA-4096 keys are registered`,
      server: subject.name,
      unit: 'ms',
      value: p99('RSA-4096'),
      target: { most: 20 },
      note: `the same, while ${clients} clients register as fast as they can`,
    },
  ]
}
