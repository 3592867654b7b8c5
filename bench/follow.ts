/**
 * What `pubring jwks follow` needs beside a verifier: memory and CPU time of a follower of 100 projects
 * with two keys each, in a minute in which nothing changes. Prints a line of Markdown.
 *
 *   npm run bench:follow
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { cpuMicros, residentMib } from './load/usage.ts'
import { createBenchProject } from './revocation/project.ts'
import { createDatabases } from './server/databases.ts'
import { startServer } from './server/start.ts'

const projectCount = 100
const idleSeconds = 60
const command = join(import.meta.dirname, '../bin/pubring.js')

const databases = createDatabases()
const server = await startServer(await databases.create('sqlite'))
const out = mkdtempSync(join(tmpdir(), 'pubring-follow-'))
try {
  const names = []
  for (let count = 0; count < projectCount; count += 1) names.push(`followed-${count}`)
  for (const name of names) {
    const project = await createBenchProject(server, name)
    for (let key = 0; key < 2; key += 1) await project.register()
  }
  const options = ['--out', out, '--listen', '127.0.0.1:0']
  const child = spawn(process.execPath, [command, 'jwks', 'follow', ...names, ...options], {
    env: { ...process.env, PUBRING_URL: server.replica.url },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  while (readdirSync(out).length < projectCount) await delay(100)
  // What starting needs is not counted.
  await delay(5_000)
  const pids = [child.pid ?? 0]
  const before = cpuMicros(pids)
  await delay(idleSeconds * 1_000)
  const cpuPercent = (100 * (cpuMicros(pids) - before)) / (idleSeconds * 1_000_000)
  const mib = residentMib(pids)
  child.kill('SIGTERM')
  await once(child, 'exit')
  process.stdout.write(
    `${projectCount} projects, idle for ${idleSeconds} s: ${Math.round(mib)} MiB of memory, ${cpuPercent.toFixed(2)} % of a core\n`,
  )
} finally {
  rmSync(out, { recursive: true })
  await server.close()
  await databases.close()
}
