import type { LoadGenerator } from './load/client.ts'
import type { Call } from './load/task.ts'
import { type Operation, operations } from './operations.ts'
import type { ReadFigure, Target } from './report/figures.ts'
import { shuffled, spreadOf } from './report/spread.ts'
import { type Captured, capture } from './server/capture.ts'
import { serverCores } from './server/cores.ts'
import type { Floor } from './server/floor-process.ts'
import type { Subject } from './server/subject.ts'
import { connections, type Extent } from './settings.ts'
import type { Shelf } from './shelf.ts'

export interface Stocked {
  subject: Subject
  shelf: Shelf
}

/** The tools of one run. */
export interface Bench {
  generator: LoadGenerator
  floor: Floor
  extent: Extent
}

interface Measurement {
  micros: number
  rate: number
  p50: number
  p99: number
}

/** Something that answers one operation: a server, or the floor in its place. */
interface Contender {
  operation: string
  /** The operation whose floor it is compared with. */
  over: string
  server: string
  target?: Target
  samples: Measurement[]
  run(seconds: number, rate?: number): Promise<Measurement>
}

const floorName = 'floor'

/** Measures all operations on all servers and on the floor, in shuffled rounds. */
export async function measureReads(bench: Bench, stocked: Stocked[]): Promise<ReadFigure[]> {
  for (const { subject } of stocked) subject.pin(serverCores(subject.workers))
  const contenders: Contender[] = []
  for (const operation of operations) contenders.push(...(await enter(bench, operation, stocked)))
  const { rounds, seconds, halfLoadSeconds } = bench.extent
  for (const contender of contenders) await contender.run(seconds)
  for (let round = 0; round < rounds; round += 1) {
    for (const contender of shuffled(contenders)) {
      contender.samples.push(await contender.run(seconds))
    }
  }
  const figures: ReadFigure[] = []
  for (const contender of contenders) {
    figures.push(await figureOf(contender, contenders, halfLoadSeconds))
  }
  return figures
}

/** The floor, which answers with what the first server does, and the servers. */
async function enter(
  { generator, floor }: Bench,
  operation: Operation,
  stocked: Stocked[],
): Promise<Contender[]> {
  const { name, over = name, targets } = operation
  const entered = { operation: name, over }
  const found = await Promise.all(stocked.map((each) => rightAnswer(operation, each)))
  const [first] = found
  if (first === undefined) return []
  const odd = found.find(({ content }) => octets(content) !== octets(first.content))
  if (odd !== undefined) throw new Error(`${name}: not all servers send as many octets`)
  const onFloor: Contender = {
    ...entered,
    server: floorName,
    samples: [],
    run: async (seconds, rate) => {
      const port = await floor.serve(first.content)
      return measure(generator, { port, pids: floor.pids, calls: first.calls, seconds, rate })
    },
  }
  const onServers = stocked.map(({ subject }, index): Contender => {
    const { port, pids, logs, engine } = subject
    const calls = found[index]?.calls ?? []
    return {
      ...entered,
      server: subject.name,
      ...(logs ? {} : { target: targets[engine] }),
      samples: [],
      run: (seconds, rate) => measure(generator, { port, pids, calls, seconds, rate }),
    }
  })
  return [onFloor, ...onServers]
}

/** What the server answers, which must be what it was given. */
async function rightAnswer(
  { name, call, isRight }: Operation,
  { subject, shelf }: Stocked,
): Promise<{ content: Captured; calls: Call[] }> {
  const content = await capture(subject.port, call(shelf))
  const { status, body } = content
  if (!isRight(body, shelf)) {
    throw new Error(`${name} of ${subject.name} is wrong: ${body.slice(0, 300)}`)
  }
  return { content, calls: [{ ...call(shelf), expected: { status, body } }] }
}

interface Demand {
  port: number
  pids: number[]
  calls: Call[]
  seconds: number
  rate: number | undefined
}

async function measure(
  generator: LoadGenerator,
  { rate, ...demand }: Demand,
): Promise<Measurement> {
  const paced = rate === undefined ? {} : { rate }
  const { answered, seconds, cpuMicros, latency } = await generator.run({
    ...demand,
    ...paced,
    connections,
  })
  return { micros: cpuMicros / answered, rate: answered / seconds, ...latency }
}

function octets({ headers, body }: Captured): number {
  return headers.join('').length + body.length
}

/** The contender beside the floor of its operation, round by round; then at half of its rate. */
async function figureOf(
  { operation, over, server, target, samples, run }: Contender,
  all: Contender[],
  halfLoadSeconds: number,
): Promise<ReadFigure> {
  const floor = all.find((each) => each.operation === over && each.server === floorName)
  const beside = (round: number) => floor?.samples[round]?.micros ?? Number.NaN
  const rate = spreadOf(samples.map((sample) => sample.rate))
  const { p50, p99 } = await run(halfLoadSeconds, rate.median / 2)
  return {
    operation,
    server,
    micros: spreadOf(samples.map(({ micros }) => micros)),
    floorMicros: spreadOf(samples.map((_, round) => beside(round))),
    ratio: spreadOf(samples.map(({ micros }, round) => micros / beside(round))),
    ...(target === undefined ? {} : { target }),
    rate,
    p50,
    p99,
  }
}
