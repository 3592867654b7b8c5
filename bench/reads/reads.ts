import { type BenchConfig, connections } from '../config.ts'
import type { LoadGenerator } from '../load/client.ts'
import type { Call } from '../load/task.ts'
import type { ReadFigure, Target } from '../report/figures.ts'
import { shuffled, spreadOf } from '../report/spread.ts'
import type { Baseline } from '../server/baseline.ts'
import { type CapturedResponse, capture } from '../server/capture.ts'
import { serverCores } from '../server/cores.ts'
import type { Fixtures } from '../server/fixtures.ts'
import type { BenchServer } from '../server/start.ts'
import { lean } from './lean.ts'
import { type Operation, operations } from './operations.ts'

export interface PreparedServer {
  server: BenchServer
  fixtures: Fixtures
}

/** The tools of one run. */
export interface BenchContext {
  generator: LoadGenerator
  baseline: Baseline
  config: BenchConfig
}

interface Measurement {
  micros: number
  rate: number
  p50: number
  p99: number
}

/** One operation on one server or on the baseline. */
interface Benchmark {
  operation: string
  /** The operation whose baseline it is compared with. */
  baselineOf: string
  server: string
  target?: Target
  samples: Measurement[]
  run(seconds: number, rate?: number): Promise<Measurement>
}

const baselineName = 'baseline'

/** Measures all operations on all servers and on the baselines, in shuffled rounds. */
export async function measureReads(
  context: BenchContext,
  prepared: PreparedServer[],
): Promise<ReadFigure[]> {
  for (const { server } of prepared) server.pin(serverCores)
  const benchmarks: Benchmark[] = []
  for (const operation of operations) {
    benchmarks.push(...(await createBenchmarks(context, operation, prepared)))
  }
  const { rounds, seconds, halfLoadSeconds } = context.config
  for (const benchmark of benchmarks) await benchmark.run(seconds)
  for (let round = 0; round < rounds; round += 1) {
    for (const benchmark of shuffled(benchmarks)) {
      benchmark.samples.push(await benchmark.run(seconds))
    }
  }
  const figures: ReadFigure[] = []
  for (const benchmark of benchmarks) {
    figures.push(await figureOf(benchmark, benchmarks, halfLoadSeconds))
  }
  return figures
}

/** The servers, and the baselines: the body of the first one with few headers, and its whole response. */
async function createBenchmarks(
  { generator, baseline }: BenchContext,
  operation: Operation,
  prepared: PreparedServer[],
): Promise<Benchmark[]> {
  const { name, baselineOf = name, targets } = operation
  const common = { operation: name, baselineOf }
  const captured = await Promise.all(prepared.map((each) => captureCorrect(operation, each)))
  const [first] = captured
  if (first === undefined) return []
  if (captured.some(({ response }) => sizeOf(response) !== sizeOf(first.response))) {
    throw new Error(`${name}: the responses of the servers differ in size`)
  }
  const onBaseline = (server: string, response: CapturedResponse): Benchmark => ({
    ...common,
    server,
    samples: [],
    run: async (seconds, rate) => {
      const port = await baseline.serve(response)
      return measure(generator, { port, pids: baseline.pids, calls: first.calls, seconds, rate })
    },
  })
  const onServers = prepared.map(({ server }, index): Benchmark => {
    const { port, pids, logs, engine } = server
    const calls = captured[index]?.calls ?? []
    return {
      ...common,
      server: server.name,
      ...(logs ? {} : { target: targets[engine] }),
      samples: [],
      run: (seconds, rate) => measure(generator, { port, pids, calls, seconds, rate }),
    }
  })
  return [
    onBaseline(baselineName, lean(first.response)),
    onBaseline(`${baselineName}, the same bytes`, first.response),
    ...onServers,
  ]
}

/** The server's response, after comparing it with the fixtures. */
async function captureCorrect(
  { name, call, isCorrect }: Operation,
  { server, fixtures }: PreparedServer,
): Promise<{ response: CapturedResponse; calls: Call[] }> {
  const request = call(fixtures)
  const response = await capture(server.port, request)
  const { status, body } = response
  if (!isCorrect(body, fixtures)) {
    throw new Error(`${name} of ${server.name} is wrong: ${body.slice(0, 300)}`)
  }
  return { response, calls: [{ ...request, expected: { status, body } }] }
}

interface LoadOptions {
  port: number
  pids: number[]
  calls: Call[]
  seconds: number
  rate: number | undefined
}

async function measure(
  generator: LoadGenerator,
  { rate, ...options }: LoadOptions,
): Promise<Measurement> {
  const { answered, seconds, cpuMicros, latency } = await generator.run({
    ...options,
    ...(rate === undefined ? {} : { rate }),
    connections,
  })
  return { micros: cpuMicros / answered, rate: answered / seconds, ...latency }
}

function sizeOf({ headers, body }: CapturedResponse): number {
  return headers.join('').length + body.length
}

/** Compares with the baseline round by round, then measures latency at half of the rate. */
async function figureOf(
  { operation, baselineOf, server, target, samples, run }: Benchmark,
  all: Benchmark[],
  halfLoadSeconds: number,
): Promise<ReadFigure> {
  const baseline = all.find((each) => each.operation === baselineOf && each.server === baselineName)
  const baselineMicros = samples.map((_, round) => baseline?.samples[round]?.micros ?? Number.NaN)
  const rate = spreadOf(samples.map((sample) => sample.rate))
  const { p50, p99 } = await run(halfLoadSeconds, rate.median / 2)
  return {
    operation,
    server,
    micros: spreadOf(samples.map(({ micros }) => micros)),
    baselineMicros: spreadOf(baselineMicros),
    ratio: spreadOf(
      samples.map(({ micros }, round) => micros / (baselineMicros[round] ?? Number.NaN)),
    ),
    ...(target === undefined ? {} : { target }),
    rate,
    p50,
    p99,
  }
}
