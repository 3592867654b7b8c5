import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { expect, test } from 'vitest'
import { packCheckout, packClient, plainEnvironment } from '../support/package.ts'
import { rememberSecret } from '../support/secrets.ts'
import { freePort, temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()
const clean = join(folder, 'clean')
const run = promisify(execFile)
const fromRoot = (file: string) =>
  JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'))
const manifest = fromRoot('package.json')
const lock = fromRoot('package-lock.json')

/** Runs a command in the folder where the package is installed. */
function typed(command: string, ...args: string[]) {
  return run(command, args, { cwd: clean, env: plainEnvironment })
}

const tarball = await packCheckout(folder)
const listed = await run('tar', ['-tzf', tarball])
const contents = listed.stdout.trim().split('\n')
mkdirSync(clean)
const installation = await typed('npm', 'install', '--prefer-offline', tarball)

/** The messages of publint about a tarball. */
async function complaints(file: string): Promise<(string | undefined)[]> {
  const { buffer, byteOffset, byteLength } = readFileSync(file)
  const octets = buffer.slice(byteOffset, byteOffset + byteLength)
  const { messages, pkg = {} } = await publint({ pack: { tarball: octets }, strict: true })
  return messages.map((message) => formatMessage(message, pkg, { color: false }))
}

test('npm installs it without a warning', () => {
  expect(installation.stderr).toBe('')
})

test('publint has no complaint about the tarball', async () => {
  expect(await complaints(tarball)).toEqual([])
})

test('@pubring/client packs, passes publint and works when installed as its README says, including its types', async () => {
  const where = join(folder, 'client')
  mkdirSync(where)
  const packed = await packClient(where)
  expect(await complaints(packed)).toEqual([])
  symlinkSync('checkout', join(where, 'pubring'))
  const page = readFileSync(new URL('../../packages/client/README.md', import.meta.url), 'utf8')
  const [, install = ''] = /^```sh\n([\s\S]*?)^```$/m.exec(page) ?? []
  const env = { ...plainEnvironment, npm_config_prefer_offline: 'true' }
  await run('sh', ['-euc', install], { cwd: where, env })
  expect(existsSync(join(where, 'node_modules/@pubring/client/index.d.ts'))).toBe(true)
  const program = `
    import { createClient, PubringError } from '@pubring/client'
    import { verifyLedgerProof } from '@pubring/client/log'
    import { projectKeySet } from '@pubring/client/verify'
    const client = createClient({ url: 'http://127.0.0.1:9/base/' })
    const error = await client.projects.get('default').catch((reason) => reason)
    console.log(client.url, error instanceof PubringError, error.code, typeof projectKeySet, typeof verifyLedgerProof)`
  const { stdout } = await run('node', ['--input-type=module', '-e', program], {
    cwd: where,
    env: plainEnvironment,
  })
  expect(stdout.trim()).toBe('http://127.0.0.1:9/base/v1 true unreachable function function')
})

test('it contains the compiled files, the license and the pages, and no development files', () => {
  expect(contents).toContain('package/LICENSE')
  expect(contents).toContain('package/README.md')
  expect(contents).toContain('package/docs/quick-start.md')
  expect(contents).toContain('package/dist/packages/cli/src/main.js')
  expect(contents).toContain('package/dist/packages/intake/src/blocklists/published-keys.bin')
  expect(contents).toContain('package/dist/packages/intake/src/blocklists/trivial-keys.bin')
  expect(contents).toContain('package/dist/packages/intake/src/blocklists/factored-primes.bin')
  expect(contents).toContain('package/dist/packages/intake/src/blocklists/factored-primes.LICENSE')
  expect(contents).toContain('package/dist/console/dist/index.html')
  for (const name of ['pubring.service', 'pubring-backup.timer', 'prometheus-rules.yaml']) {
    expect(contents).toContain(`package/deploy/${name}`)
  }
  const others = contents.filter((file) => !/^package\/(bin|deploy|dist|docs|[^/]+$)/.test(file))
  expect(others).toEqual([])
  expect(contents.filter((file) => /\.tsx?$|test|node_modules/.test(file))).toEqual([])
})

test('each compiled file can be loaded', async () => {
  const files = contents.flatMap(
    (file) => /^package\/(dist\/packages\/.*\.js)$/.exec(file)?.[1] ?? [],
  )
  const programs = files.filter((file) => /(main|worker|-thread)\.js$/.test(file))
  const names = programs.map((file) => basename(file, '.js')).sort()
  expect(names).toEqual(['census-thread', 'main', 'worker', 'worker', 'writer-thread'])
  const loading = files
    .filter((file) => !programs.includes(file))
    .map((file) => `await import('./node_modules/pubring/${file}')`)
  await typed('node', '--input-type=module', '-e', loading.join('\n'))
})

test('only runtime dependencies are installed', async () => {
  const { stdout } = await typed('npm', 'ls', '--all', '--parseable')
  const installed = stdout.split('\n').map((path) => path.replace(/.*node_modules\//, ''))
  for (const name of Object.keys(manifest.dependencies)) expect(installed).toContain(name)
  // Without packages that a dependency bundles.
  const workshop = Object.keys(manifest.devDependencies).filter(
    (name) => lock.packages[`node_modules/${name}`].dev === true,
  )
  expect(workshop).toContain('vitest')
  expect(workshop.filter((name) => installed.includes(name))).toEqual([])
})

test('npx pubring --version prints the version of the package', async () => {
  const { stdout } = await typed('npx', 'pubring', '--version')
  expect(stdout.trim()).toBe(manifest.version)
})

test('an old Node is rejected with one line', async () => {
  const old = "Object.defineProperty(process.versions, 'node', { value: '20.20.2' })"
  const launcher = join(clean, 'node_modules/pubring/bin/pubring.js')
  const started = typed('node', '--import', `data:text/javascript,${old}`, launcher, 'serve')
  const failure = await started.catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 70, stdout: '' })
  expect(failure).toHaveProperty('stderr', expect.stringMatching(/^pubring: needs Node 24 .*\n$/))
})

test('npx pubring serve works, with its threads and its console', async () => {
  const port = await freePort()
  const child = spawn('npx', ['pubring', 'serve'], {
    cwd: clean,
    detached: true,
    env: { ...plainEnvironment, PUBRING_PORT: String(port) },
  })
  const ended = once(child, 'exit')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk
    })
  }
  try {
    await expect.poll(() => output).toMatch(/PUBRING_API_KEY=pubring_\w+/)
    const secret = rememberSecret('an API key', /pubring_\w{49}/.exec(output)?.[0] ?? '')
    const lines = output.split('\n').filter((line) => /^ {2}(export|openssl|curl)/.test(line))
    const { stdout } = await run('sh', ['-e', '-c', lines.join('\necho\n')], { cwd: clean })
    expect(stdout).toMatch(/"kid":"[0-9a-f-]{36}"[\s\S]*"label":"orders, spring"/)
    expect(secret).not.toBe('')
    const described = await fetch(`http://127.0.0.1:${port}/openapi.json`)
    expect(await described.json()).toMatchObject({ info: { version: manifest.version } })
    const pages = await fetch(`http://127.0.0.1:${port}/console/`)
    expect([pages.status, await pages.text()]).toEqual([200, expect.stringContaining('<script')])
  } finally {
    process.kill(-(child.pid ?? 0), 'SIGTERM')
    await ended
  }
})
