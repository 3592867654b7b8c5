/** The other process of a benchmark: asks a server at a steady pace and says how long it took. */
import { Agent, get } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

export interface LatencyTask {
  url: string
  apiKey: string
  project: string
  seconds: number
}

/** Milliseconds. */
export interface Percentiles {
  p50: number
  p99: number
  slowest: number
}

export type Latencies = Record<'list' | 'health', Percentiles>

/** Milliseconds between two requests for one address, whether the one before is answered or not. */
const pace = 5

const agent = new Agent({ keepAlive: true })

function ask(url: string, apiKey: string): Promise<number> {
  const start = performance.now()
  return new Promise((resolve, reject) => {
    const request = get(url, { agent, headers: { 'X-Api-Key': apiKey } }, (response) => {
      response.resume()
      if (response.statusCode !== 200) reject(new Error(`${url} answered ${response.statusCode}`))
      response.once('end', () => resolve(performance.now() - start))
    })
    request.once('error', reject)
  })
}

async function series(url: string, { apiKey, seconds }: LatencyTask): Promise<Percentiles> {
  const asked: Promise<number>[] = []
  const end = performance.now() + seconds * 1_000
  while (performance.now() < end) {
    asked.push(ask(url, apiKey))
    await delay(pace)
  }
  const times = (await Promise.all(asked)).toSorted((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0
  return { p50: at(0.5), p99: at(0.99), slowest: times.at(-1) ?? 0 }
}

process.once('message', async (task: LatencyTask) => {
  const [list, health] = await Promise.all([
    series(`${task.url}/v1/projects/${task.project}/jwt-keys`, task),
    series(`${task.url}/health/live`, task),
  ])
  process.send?.({ list, health } satisfies Latencies, () => process.exit(0))
})
