import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { endLater } from '../ending.ts'
import { freePort } from '../server/process.ts'
import { waitLimitMs } from '../waiting.ts'

/** A load balancer with the configuration of `deploy/`. */
export interface Balancer {
  name: string
  url: string
  close(): Promise<void>
}

type Program = 'haproxy' | 'nginx'

/** The configuration file of each, and how it is run with a copy of that file. */
const programs: Record<Program, { file: string; prepare(text: string): string; args: string[] }> = {
  haproxy: {
    file: 'haproxy.cfg',
    prepare: (text) => text.replaceAll('abns@pubring-', `abns@pubring-${process.pid}-`),
    args: ['-db', '-f', 'balancer.conf'],
  },
  nginx: {
    file: 'nginx.conf',
    prepare: (text) =>
      `daemon off;\npid nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${text}\n}\n`,
    args: ['-c', 'balancer.conf', '-p', '.'],
  },
}

/** Starts the program, which must be installed (`apt-get install haproxy nginx`), for two replicas. */
export async function startBalancer(name: Program, replicas: [string, string]): Promise<Balancer> {
  const { file, prepare, args } = programs[name]
  const folder = mkdtempSync(join(tmpdir(), `pubring-${name}-`))
  const port = await freePort()
  const addresses = [`127.0.0.1:${port}`, ...replicas.map((url) => new URL(url).host)]
  const config = readFileSync(new URL(`../../../deploy/${file}`, import.meta.url), 'utf8')
  const local = ['127.0.0.1:8080', '127.0.0.1:8081', '127.0.0.1:8082'].reduce(
    (text, address, index) => text.replaceAll(address, addresses[index] ?? ''),
    config,
  )
  writeFileSync(join(folder, 'balancer.conf'), prepare(local))
  const child = spawn(name, args, {
    cwd: folder,
    env: { PATH: `${process.env.PATH}:/usr/sbin` },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const errors: Buffer[] = []
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk))
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  await Promise.race([once(child, 'spawn'), once(child, 'error')])
  const url = `http://127.0.0.1:${port}`
  await untilAnswering(url, child, () => Buffer.concat(errors).toString())
  return {
    name,
    url,
    close: endLater(async () => {
      process.off('exit', kill)
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true })
    }),
  }
}

async function untilAnswering(
  url: string,
  child: ChildProcess,
  errors: () => string,
): Promise<void> {
  const until = Date.now() + waitLimitMs
  while (Date.now() < until && child.exitCode === null) {
    const response = await fetch(`${url}/health/live`).catch(() => undefined)
    if (response?.status === 200) return
    await delay(50)
  }
  throw new Error(`the balancer does not answer:\n${errors()}`)
}
