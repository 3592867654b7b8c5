import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rememberSecret } from '../support/secrets.ts'
import { createServerClient } from '../support/server/client.ts'
import { freePort } from '../support/server/process.ts'

const script = join(import.meta.dirname, '../../scripts/build-image.sh')
const image = 'localhost/pubring-test'
const run = promisify(execFile)
const env = { ...process.env, BUILDAH_ISOLATION: 'chroot' }

const canBuild = ['buildah', 'debootstrap'].every(isInstalled) && process.getuid?.() === 0

function isInstalled(tool: string): boolean {
  try {
    execFileSync('which', [tool], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** The machine's own settings of npm: a proxy of the registry may have its own authority. */
const mounts = ['/etc/ssl/certs:/etc/ssl/certs', '/usr/etc/npmrc:/usr/local/etc/npmrc']
  .filter((mount) => existsSync(mount.split(':')[0] ?? ''))
  .map((mount) => `--volume=${mount}:ro`)

let container = ''
beforeAll(async () => {
  if (!canBuild) return
  await run(script, [image, ...mounts], { env, maxBuffer: 2 ** 26 })
  container = (await run('buildah', ['from', '--pull-never', image])).stdout.trim()
}, 900_000)
afterAll(async () => {
  if (container !== '') await run('buildah', ['rm', container])
})

/** Runs a command in the container, as its user and with its environment. */
function inContainer(variables: Record<string, string>, ...command: string[]) {
  const options = Object.entries(variables).map(([name, value]) => `--env=${name}=${value}`)
  return spawn('buildah', ['run', '--user=node', ...options, container, '--', ...command], { env })
}

test('the image runs a server as an unprivileged user, and its health check follows the port', async ({
  skip,
}) => {
  skip(!canBuild, 'needs root, buildah and debootstrap')
  const inspected = await run('buildah', ['inspect', '--type=image', image])
  const { config } = JSON.parse(inspected.stdout).Docker
  expect(config).toMatchObject({ User: 'node', Cmd: ['serve'], StopSignal: 'SIGTERM' })
  const [, ...check]: string[] = config.Healthcheck.Test

  const port = String(await freePort())
  const variables = { PUBRING_PORT: port }
  const server = inContainer(variables, ...config.Entrypoint, ...config.Cmd)
  const ended = once(server, 'exit')
  let output = ''
  for (const stream of [server.stdout, server.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk
    })
  }
  await expect.poll(() => output).toMatch(/PUBRING_API_KEY=pubring_\w{49}/)
  const apiKey = rememberSecret('an API key', /pubring_\w{49}/.exec(output)?.[0] ?? '')
  const client = createServerClient({ url: `http://127.0.0.1:${port}` }, apiKey)
  expect(await client.create()).toMatch(/^[0-9a-f-]{36}$/)
  const page = await fetch(`http://127.0.0.1:${port}/console/`)
  expect(await page.text()).toContain('<script')
  expect(await once(inContainer(variables, ...check), 'exit')).toEqual([0, null])
  server.kill('SIGTERM')
  await ended
  expect(await once(inContainer(variables, ...check), 'exit')).toEqual([1, null])
}, 120_000)
