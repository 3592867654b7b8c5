/**
 * Measures `pubring jwks follow` beside a verifier, and at its server: memory and CPU time of both
 * while nothing changes, with a follower of 1,000 projects with two keys each, or several processes that
 * share the projects, and the time from a change to the written file. Prints lines of Markdown.
 *
 *   npm run bench:follow [-- --projects 200] [--processes 200] [--seconds 60]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { cpuMicros, residentMib } from './load/usage.ts'
import { spreadOf } from './report/spread.ts'
import { createBenchProject } from './revocation/project.ts'
import { createDatabases } from './server/databases.ts'
import { startServer } from './server/start.ts'

const { values } = parseArgs({
  options: {
    projects: { type: 'string', default: '1000' },
    processes: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '60' },
  },
})
const projectCount = Number(values.projects)
const processCount = Number(values.processes)
const idleSeconds = Number(values.seconds)
const changes = 20
const command = join(import.meta.dirname, '../bin/pubring.js')

const databases = createDatabases()
const server = await startServer(await databases.create('sqlite'))
const out = mkdtempSync(join(tmpdir(), 'pubring-follow-'))
try {
  const names: string[] = []
  const projects = []
  for (let count = 0; count < projectCount; count += 1) {
    const name = `followed-${count}`
    const project = await createBenchProject(server, name)
    for (let key = 0; key < 2; key += 1) await project.register()
    names.push(name)
    projects.push(project)
  }
  const serverAlone = residentMib(server.pids)
  const children = Array.from({ length: processCount }, (_, position) => {
    const own = names.filter((_, index) => index % processCount === position)
    const target = own.length === 1 ? join(out, `${own[0]}.json`) : out
    const args = ['jwks', 'follow', ...own, '--out', target, '--listen', '127.0.0.1:0']
    return spawn(process.execPath, [command, ...args], {
      env: { ...process.env, PUBRING_URL: server.replica.url },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  })
  const written = () => readdirSync(out).filter((name) => /^followed-[0-9]+.json$/.test(name))
  while (written().length < projectCount) await delay(100)
  // The cost of starting is not counted.
  await delay(5_000)
  const followers = children.map(({ pid = 0 }) => pid)
  const processes = { followers, server: server.pids }
  const cpuOf = () => Object.values(processes).map(cpuMicros)
  const before = cpuOf()
  await delay(idleSeconds * 1_000)
  const percents = cpuOf().map((micros, index) => {
    return (100 * (micros - (before[index] ?? 0))) / (idleSeconds * 1_000_000)
  })
  for (const [index, [name, pids]] of Object.entries(processes).entries()) {
    const [mib, percent = 0] = [residentMib(pids), percents[index]]
    process.stdout.write(
      `${name}, ${processCount} processes, ${projectCount} projects, idle for ${idleSeconds} s: ${Math.round(mib)} MiB of memory, ${percent.toFixed(2)} % of a core\n`,
    )
  }
  process.stdout.write(`server before the follower: ${Math.round(serverAlone)} MiB of memory\n`)
  const times: number[] = []
  for (let change = 0; change < changes; change += 1) {
    const index = Math.floor(Math.random() * projectCount)
    const kid = await projects[index]?.register()
    const start = performance.now()
    const file = join(out, `${names[index]}.json`)
    while (!readFileSync(file, 'utf8').includes(String(kid))) await delay(5)
    times.push(performance.now() - start)
  }
  const { median } = spreadOf(times)
  process.stdout.write(
    `change to file: median ${Math.round(median)} ms, slowest of ${changes} ${Math.round(Math.max(...times))} ms\n`,
  )
  await Promise.all(
    children.map(async (child) => {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }),
  )
} finally {
  rmSync(out, { recursive: true })
  await server.close()
  await databases.close()
}
