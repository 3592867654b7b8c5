import { spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from './ports.ts'
import { command, type Project, type Registry } from './registry.ts'

export interface Follower {
  /** The address of the project's key set. */
  jwksUrl(project: Project): string
  kill(): void
  stop(): Promise<void>
}

/** `pubring jwks follow --listen` for all of the projects; resolves once it has their keys. */
export async function startFollower(
  { url }: Registry,
  projects: readonly Project[],
): Promise<Follower> {
  const address = `127.0.0.1:${await freePort()}`
  const names = projects.map(({ name }) => name)
  const child = spawn(
    process.execPath,
    [command, 'jwks', 'follow', ...names, '--listen', address],
    { env: { ...process.env, PUBRING_URL: url }, stdio: 'ignore' },
  )
  const base = `http://${address}`
  while (!(await isReady(`${base}/health/ready`))) {
    if (child.exitCode !== null) throw new Error('pubring jwks follow ended before it was ready.')
    await delay(50)
  }
  return {
    jwksUrl: ({ name }) => `${base}/v1/projects/${name}/.well-known/jwks.json`,
    kill: () => void child.kill('SIGKILL'),
    async stop() {
      child.kill('SIGTERM')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}

async function isReady(url: string): Promise<boolean> {
  const response = await fetch(url).catch(() => undefined)
  return response?.ok === true
}
