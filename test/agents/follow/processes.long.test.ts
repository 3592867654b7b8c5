import { type ChildProcess, spawn } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'
import { newProject, patchKey, registerKey } from '../../support/app/keys.ts'
import { dataFolderOf, fillDisk, launchOnSmallDisk } from '../../support/faults/small-disk.ts'
import { temporaryFolder } from '../../support/server/process.ts'

const command = join(import.meta.dirname, '../../../bin/pubring.js')
const { folder } = temporaryFolder()
const soon = { interval: 20 }

const server = await startApp()
const url = await server.listen()
const project = await newProject(server, 'followed')
const kids: string[] = []
for (let count = 0; count < 6; count += 1) {
  kids.push(await registerKey(server, {}, project.keys))
}

const running: ChildProcess[] = []
afterEach(async () => {
  for (const child of running.splice(0)) await kill(child)
})

function startFollower(options: string[], wrapper: string[] = []) {
  const words = [...wrapper, process.execPath, command, 'jwks', 'follow', project.name, ...options]
  const [program = '', ...parameters] = words
  const child = spawn(program, parameters, {
    cwd: folder,
    env: { ...process.env, PUBRING_URL: url },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  running.push(child)
  let output = ''
  child.stderr?.on('data', (chunk) => {
    output += chunk
  })
  return { child, output: () => output }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** The PEM files that the configuration names. Throws if one of them is missing or torn. */
function verifiedFiles(configuration: string): string[] {
  const text = readFileSync(configuration, 'utf8')
  const paths = [...text.matchAll(/jwt_verify\(txn\.pubring_alg,'"([^"]+)"'\)/g)]
  // A torn configuration would lack its last line.
  expect(text).toMatch(/(?:jwt_verify.*|\$\.kid'\))\n$/)
  return paths.map(([, path = '']) => {
    createPublicKey(readFileSync(path))
    return path
  })
}

test('killed at any moment while keys change, it leaves whole files that fit together', async () => {
  const out = join(folder, 'killed', 'keys.cfg')
  let isOver = false
  const changes = (async () => {
    for (let round = 0; !isOver; round += 1) {
      const kid = kids[round % kids.length] ?? ''
      await patchKey(
        server,
        kid,
        { active: round % (2 * kids.length) >= kids.length },
        project.keys,
      )
      await delay(5)
    }
  })()
  let written = 0
  for (let round = 0; round < 8; round += 1) {
    const { child, output } = startFollower(['--format', 'haproxy', '--out', out])
    await expect.poll(output, soon).toContain('Wrote')
    await delay(Math.random() * 400)
    await kill(child)
    written += output().match(/Wrote/g)?.length ?? 0
    verifiedFiles(out)
  }
  isOver = true
  await changes
  expect(written).toBeGreaterThan(8)
  for (const kid of kids) await patchKey(server, kid, { active: true }, project.keys)
  startFollower(['--format', 'haproxy', '--out', out])
  await expect.poll(() => verifiedFiles(out).length, soon).toBe(kids.length)
  // Nothing of the killed ones stays behind.
  const pems = () => readdirSync(`${out}.d`).filter((name) => name.endsWith('.pem'))
  await expect.poll(() => pems().length, soon).toBe(kids.length)
}, 60_000)

test('a full disk leaves the old file, is reported, and is survived', async () => {
  const { wrapper = [] } = launchOnSmallDisk(1)
  mkdirSync(join(folder, 'data'), { recursive: true })
  const { child, output } = startFollower(['--out', 'data/keys.json'], wrapper)
  const disk = dataFolderOf(child.pid ?? 0, folder)
  const file = join(disk, 'keys.json')
  const read = () => JSON.parse(readFileSync(file, 'utf8')).keys.length
  await expect.poll(() => existsSync(file) && read(), soon).toBe(kids.length)
  const free = fillDisk(disk)
  const added = await registerKey(server, {}, project.keys)
  await expect.poll(output, soon).toMatch(/The keys cannot be written: ENOSPC/)
  expect(read()).toBe(kids.length)
  free()
  await expect.poll(read, soon).toBe(kids.length + 1)
  await patchKey(server, added, { active: false }, project.keys)
  await expect.poll(read, soon).toBe(kids.length)
  expect(child.exitCode).toBeNull()
}, 60_000)
