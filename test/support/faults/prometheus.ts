import { readFileSync } from 'node:fs'
import { startInstalled } from '../installed-program.ts'
import { freePort } from '../server/process.ts'

/** A time in which an alert fired, in milliseconds since 1970. */
export interface Firing {
  alert: string
  instance: string
  from: number
  /** Its last evaluation. */
  to: number
}

/** A Prometheus that scrapes every second and evaluates the rules in `deploy/`. */
export interface Prometheus {
  /** All firings since the start. */
  firings(): Promise<Firing[]>
  close(): Promise<void>
}

/**
 * Starts Prometheus. The durations in the rules are multiplied by `scale`; they stay long enough for the
 * interval of one second.
 */
export async function startPrometheus(targets: string[], scale: number): Promise<Prometheus> {
  const rules = readFileSync(
    new URL('../../../deploy/prometheus-rules.yaml', import.meta.url),
    'utf8',
  )
  const files = {
    'rules.yaml': scaleDurations(rules, scale),
    'prometheus.yaml': `global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
rule_files: [rules.yaml]
scrape_configs:
  - job_name: pubring
    static_configs: [{ targets: [${targets.map((target) => `"${target}"`).join(', ')}] }]
`,
  }
  const address = `127.0.0.1:${await freePort()}`
  const started = Date.now()
  const args = [
    '--config.file=prometheus.yaml',
    '--storage.tsdb.path=data',
    `--web.listen-address=${address}`,
    '--log.level=warn',
  ]
  const isReady = async () => (await fetch(`http://${address}/-/ready`)).status === 200
  const { close } = await startInstalled('prometheus', args, files, isReady)
  return { firings: () => readFirings(address, started), close }
}

/** The durations after `for:` and `offset`, and in brackets. */
function scaleDurations(rules: string, scale: number): string {
  const seconds = { s: 1, m: 60, h: 3_600 }
  return rules.replace(/(for: |\[|offset )(\d+)([smh])/g, (_, before, count, unit) => {
    const least = before === '[' ? 5 : 1
    const scaled = Number(count) * seconds[unit as keyof typeof seconds] * scale
    return `${before}${Math.max(least, Math.round(scaled))}s`
  })
}

interface Matrix {
  data: { result: { metric: Record<string, string>; values: [number, string][] }[] }
}

async function readFirings(address: string, started: number): Promise<Firing[]> {
  const query = new URLSearchParams({
    query: 'ALERTS{alertstate="firing"}',
    start: String(started / 1_000),
    end: String(Date.now() / 1_000),
    step: '1s',
  })
  const response = await fetch(`http://${address}/api/v1/query_range?${query}`)
  const { data } = (await response.json()) as Matrix
  return data.result.flatMap(({ metric, values }) => {
    const [alert, instance] = [metric.alertname ?? '', metric.instance ?? metric.route ?? '']
    const firings: Firing[] = []
    for (const [time] of values) {
      const last = firings.at(-1)
      if (last !== undefined && time * 1_000 - last.to < 2_000) last.to = time * 1_000
      else firings.push({ alert, instance, from: time * 1_000, to: time * 1_000 })
    }
    return firings
  })
}
