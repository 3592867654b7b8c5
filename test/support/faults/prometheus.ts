import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../server/process.ts'
import { waitLimitMs } from '../waiting.ts'

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
 * Starts `prometheus`, which must be installed. The durations in the rules are multiplied by `scale`;
 * they stay long enough for the interval of one second.
 */
export async function startPrometheus(targets: string[], scale: number): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-prometheus-'))
  const rules = readFileSync(
    new URL('../../../deploy/prometheus-rules.yaml', import.meta.url),
    'utf8',
  )
  writeFileSync(join(folder, 'rules.yaml'), scaleDurations(rules, scale))
  writeFileSync(
    join(folder, 'prometheus.yaml'),
    `global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
rule_files: [rules.yaml]
scrape_configs:
  - job_name: pubring
    static_configs: [{ targets: [${targets.map((target) => `"${target}"`).join(', ')}] }]
`,
  )
  const address = `127.0.0.1:${await freePort()}`
  const started = Date.now()
  const child = spawn(
    'prometheus',
    [
      '--config.file=prometheus.yaml',
      '--storage.tsdb.path=data',
      `--web.listen-address=${address}`,
      '--log.level=warn',
    ],
    { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  await Promise.race([once(child, 'spawn'), once(child, 'error')])
  for (;;) {
    const response = await fetch(`http://${address}/-/ready`).catch(() => undefined)
    if (response?.status === 200) break
    if (Date.now() > started + waitLimitMs || child.exitCode !== null)
      throw new Error(`Prometheus does not start:\n${errors}`)
    await delay(50)
  }
  return {
    firings: () => readFirings(address, started),
    async close() {
      process.off('exit', kill)
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true })
    },
  }
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
