import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { plainEnvironment } from '../support/package.ts'
import { rememberSecret } from '../support/secrets.ts'
import { freePort, temporaryFolder } from '../support/server/process.ts'

const project = join(import.meta.dirname, '../..')
const { folder } = temporaryFolder()
const checkout = join(folder, 'checkout')
const run = promisify(execFile)

/** Runs a command in the checkout. */
function typed(command: string, ...args: string[]) {
  return run(command, args, { cwd: checkout, env: plainEnvironment })
}

mkdirSync(checkout)
const copy = `git ls-files -z | xargs -0 ls -d | tar cT - | tar x -C ${checkout}`
execFileSync('sh', ['-c', copy], { cwd: project })
await typed('npm', 'ci', '--prefer-offline')

test('npm ci builds the console', () => {
  expect(existsSync(join(checkout, 'console/dist/index.html'))).toBe(true)
})

/** Runs the command where the pinned Node cannot load libatomic.so.1, with the system's in PATH. */
async function withoutLibatomic(command: string) {
  const script = `mount --bind /dev/null "$(readlink -f "$(ldconfig -p | sed -n 's/.*libatomic.so.1 .*=> //p' | head -n 1)")" && ${command}`
  const env = { ...plainEnvironment, PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin' }
  const options = { cwd: checkout, env }
  return run('unshare', ['--mount', 'sh', '-c', script], options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  )
}

test('where the pinned Node cannot start, the system’s is used, or one line says what helps', async ({
  skip,
}) => {
  const { code, stdout } = await withoutLibatomic('node --version')
  skip(code !== 0, 'needs root, unshare and a system Node that does not use libatomic')
  const isRecent = Number.parseInt(stdout.slice(1), 10) >= 24
  const installed = await withoutLibatomic('node scripts/after-install.js')
  expect(installed.code).toBe(isRecent ? 0 : 1)
  expect(installed.stderr).toMatch(
    isRecent ? /^$/ : /^pubring: .*apt-get update && apt-get install libatomic1.*\n$/,
  )
  const started = await withoutLibatomic('deploy/pubring --version')
  expect(started.code).toBe(isRecent ? 0 : 70)
  expect(started.stderr).toMatch(
    isRecent ? /^$/ : /^pubring: needs Node 24 or later.*libatomic1.*\n$/,
  )
}, 60_000)

test('a Node that is too old for npm ci is named in one line', async () => {
  const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'))
  const old = join(folder, 'old-node')
  copyFileSync(process.execPath, old)
  const env = {
    ...plainEnvironment,
    PATH: `${join(checkout, 'node_modules/.bin')}:${plainEnvironment.PATH}`,
    npm_config_user_agent: 'npm/10.8.1 node/v20.16.0 linux x64 workspaces/false',
    npm_node_execpath: old,
  }
  const failed = run('sh', ['-c', scripts.dependencies], { cwd: checkout, env })
  const { code, stderr } = await failed.catch((error) => error)
  expect([code, stderr]).toEqual([
    1,
    'pubring: npm must run with Node 20.19, 22.12 or later, and this is Node 20.16. Install one of them, then run "npm ci" again.\n',
  ])
}, 60_000)

test('npm prune --omit=dev leaves a server with its console', async () => {
  await typed('npm', 'prune', '--omit=dev')
  expect(existsSync(join(checkout, 'node_modules/vite'))).toBe(false)
  const port = await freePort()
  const child = spawn(join(checkout, 'deploy/pubring'), ['serve'], {
    cwd: folder,
    env: { ...plainEnvironment, PUBRING_PORT: String(port) },
  })
  const ended = once(child, 'exit')
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk
  })
  await expect.poll(() => output).toMatch(/PUBRING_API_KEY=pubring_\w{49}/)
  rememberSecret('an API key', /pubring_\w{49}/.exec(output)?.[0] ?? '')
  const page = await fetch(`http://127.0.0.1:${port}/console/`)
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<script')])
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
}, 120_000)
