import { join } from 'node:path'
import process from 'node:process'
import type { Example } from './catalog.ts'
import { startFollower } from './follower.ts'
import { freePort } from './ports.ts'
import { type Project, type Registry, startRegistry } from './registry.ts'
import {
  accepts,
  type PreparedKey,
  prepareKey,
  requireAccepted,
  secondsUntil,
} from './scenarios.ts'
import { startVerifier, type Verifier } from './verifier.ts'

/** A gateway, or a library at `--listen`, with a follower that has the project by its name. */
interface Subject {
  registry: Registry
  project: Project
  verifier: Verifier
  /** Two keys that it accepts. */
  keys: PreparedKey[]
  /** What `/health/ready` and the metrics of the follower say. */
  state(): Promise<string>
  killFollower(): void
  /** Whether a script ends the gateway with the follower. */
  hasScript: boolean
}

type Fault = (subject: Subject) => Promise<string>

const watch = { intervalMs: 20, limitMs: 20_000 }

/** By what happens to the project, its server or its follower. */
export const faults: Record<string, Fault> = {
  'the project is renamed': async ({ project, ...subject }) => {
    await project.rename(`${project.name}-renamed`)
    await untilNotReady(subject)
    const own = await deactivated({ project, ...subject })
    return `${own}, its other key ${(await answers(subject))[1]}; ${await subject.state()}`
  },
  'another project takes the name': async ({ registry, project, ...subject }) => {
    await project.rename(`${project.name}-renamed`)
    const other = await prepareKey(await registry.newProject(project.name))
    await untilNotReady(subject)
    const own = await deactivated({ project, ...subject })
    const foreign = (await accepts(subject.verifier, other.token)) ? '**accepted**' : 'refused'
    return `${own}; the other's key: ${foreign}; ${await subject.state()}`
  },
  'a backup from before a deactivation is restored': async ({ registry, ...subject }) => {
    const restore = registry.backUp()
    const before = await deactivated(subject)
    await restore()
    await untilNotReady(subject)
    const [off, on] = await answers(subject)
    return `${before}; after the restore: ${off}, and the other key ${on}; ${await subject.state()}`
  },
  'the follower is killed': async (subject) => {
    subject.killFollower()
    return deactivated(subject)
  },
  'the follower is killed, without the script': async (subject) => {
    // A library has none.
    if (subject.hasScript) subject.verifier.kill('run.*\\.sh')
    subject.killFollower()
    return deactivated(subject)
  },
}

/** The outcome of each fault, each with a server, a follower and a gateway of its own. */
export async function measureFaults(example: Example, folder: string, logs: string) {
  const found: Record<string, string> = {}
  for (const [name, fault] of Object.entries(faults)) {
    found[name] = await withSubject(
      example,
      folder,
      join(logs, `${example.folder}-fault.log`),
      fault,
    )
    process.stderr.write(`${example.folder}, ${name}: ${found[name]}\n`)
  }
  return found
}

async function withSubject(example: Example, folder: string, log: string, fault: Fault) {
  const { followed = 'listen' } = example
  const registry = await startRegistry()
  const project = await registry.newProject()
  const keys = [await prepareKey(project), await prepareKey(project)]
  const follower = followed === 'listen' ? await startFollower(registry, [project]) : undefined
  const port = await freePort()
  const jwksUrl = follower?.jwksUrl(project) ?? `http://127.0.0.1:${port}`
  const env = {
    PROJECT: project.name,
    FOLLOWER_PORT: String(port),
    JWKS_URL: jwksUrl,
    CACHE_SECONDS: '1',
  }
  const run = (followed === 'listen' ? example.run : followed.run) ?? ''
  const { url } = registry
  const verifier = await startVerifier({ run, folder, url, issuer: project.issuer, env, log })
  const state = () => stateOf(jwksUrl)
  try {
    await requireAccepted(verifier, ...keys)
    await secondsUntil(watch, async () => isReady(await state()))
    return await fault({
      registry,
      project,
      verifier,
      keys,
      state,
      hasScript: follower === undefined,
      killFollower() {
        if (follower === undefined) verifier.kill('jwks follow')
        else follower.kill()
      },
    })
  } finally {
    await verifier.stop()
    await follower?.stop()
    await registry.stop()
  }
}

/** What readiness and the metrics say; nothing until the follower listens. */
async function stateOf(address: string): Promise<string> {
  const read = async (path: string) => (await fetch(new URL(path, address))).text()
  const texts = await Promise.all([read('/health/ready'), read('/metrics')]).catch(() => ['', ''])
  const [readiness = '', metrics = ''] = texts
  const counted = [...metrics.matchAll(/^pubring_follow_(name_lost|refused_total){.*} (\d+)$/gm)]
  const raised = counted.filter(([, , value]) => value !== '0').map(([, name]) => `\`${name}\``)
  return [`“${readiness.trim().replace(/:.*/, '')}”`, ...raised].join(', ')
}

const isReady = (state: string) => state.startsWith('“ok”')

async function untilNotReady({ state }: Pick<Subject, 'state'>): Promise<void> {
  await secondsUntil(watch, async () => !isReady(await state()))
}

/** Deactivates the first key, and tells how soon that is refused, and whether the other still works. */
async function deactivated(
  subject: Pick<Subject, 'project' | 'verifier' | 'keys'>,
): Promise<string> {
  const { project, verifier, keys } = subject
  const [key] = keys
  if (key === undefined) throw new Error('a key is needed')
  await project.deactivate(key.kid)
  let status: number | string = 200
  const seconds = await secondsUntil(watch, async () => {
    status = await verifier.ask(key.token).catch(() => 'no answer')
    return status !== 200
  })
  return seconds === null
    ? `**200** for ${watch.limitMs / 1_000} s`
    : `${status} after ${seconds} s`
}

async function answers({ verifier, keys }: Pick<Subject, 'verifier' | 'keys'>): Promise<string[]> {
  const found = keys.map(async ({ token }) =>
    (await accepts(verifier, token)) ? 'accepted' : 'refused',
  )
  return Promise.all(found)
}

/** A row for each fault, a column for each gateway. */
export function faultTable(found: readonly (readonly [string, Record<string, string>])[]): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
  const heads = ['', ...found.map(([name]) => name)]
  const rows = Object.keys(faults).map((fault) => [
    fault,
    ...found.map(([, all]) => all[fault] ?? ''),
  ])
  return [heads, heads.map(() => '---'), ...rows].map(row).join('')
}
