import { readFileSync } from 'node:fs'
import { type InstalledProgram, startInstalled } from '../installed-program.ts'
import { freePort } from '../server/process.ts'

/** A load balancer with the configuration of `deploy/`. */
export interface Balancer extends InstalledProgram {
  name: string
  url: string
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

/** Starts the program for two replicas. */
export async function startBalancer(name: Program, replicas: [string, string]): Promise<Balancer> {
  const { file, prepare, args } = programs[name]
  const port = await freePort()
  const addresses = [`127.0.0.1:${port}`, ...replicas.map((url) => new URL(url).host)]
  const config = readFileSync(new URL(`../../../deploy/${file}`, import.meta.url), 'utf8')
  const local = ['127.0.0.1:8080', '127.0.0.1:8081', '127.0.0.1:8082'].reduce(
    (text, address, index) => text.replaceAll(address, addresses[index] ?? ''),
    config,
  )
  const url = `http://127.0.0.1:${port}`
  const files = { 'balancer.conf': prepare(local) }
  const isAnswering = async () => (await fetch(`${url}/health/live`)).status === 200
  return { name, url, ...(await startInstalled(name, args, files, isAnswering)) }
}
