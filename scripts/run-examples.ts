/**
 * Builds the verifiers of `examples/verifiers` whose toolchains are installed, runs each against a real
 * server with a good token, bad tokens and a deactivated key, and writes the results to
 * `docs/verifiers.md`. Exits with 1 if a verifier fails.
 *
 *   node scripts/run-examples.ts [FOLDER…]    without folders: runs all and writes the page
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { type Example, examples } from './examples/catalog.ts'
import { type Registry, startRegistry } from './examples/registry.ts'
import { isGood, type Outcome, tableOf, writePage } from './examples/report.ts'
import { newSigner, tokensOf } from './examples/tokens.ts'
import { startVerifier, type Verifier } from './examples/verifier.ts'

const checkout = join(import.meta.dirname, '..')
/** Builds are kept for the next run. */
const buildFolder = join(tmpdir(), 'pubring-examples')

/** Milliseconds that a verifier gets to notice a deactivated key. */
const noticeTimeoutMs = 10_000

async function runExample(example: Example, registry: Registry): Promise<Outcome> {
  const missing = example.tools.filter((tool) => !isInstalled(tool))
  if (missing.length > 0) return { example, missing }
  const folder = await prepare(example)
  const signer = newSigner()
  const kid = await registry.register(signer.publicKeyPem)
  const tokens = tokensOf(signer, kid, registry.issuer)
  const verifier = await startVerifier(example, folder, registry)
  try {
    const good = await verifier.ask(tokens.good)
    const taken: string[] = []
    for (const [name, token] of Object.entries(tokens.bad)) {
      if ((await verifier.ask(token)).accepted) taken.push(name)
    }
    await registry.deactivate(kid)
    const start = performance.now()
    const running = example.live && (await timeToRejection(verifier, tokens.good, start))
    const fresh = await newProcessRejection(example, folder, registry, tokens.good)
    const bad = { asked: Object.keys(tokens.bad), taken }
    const versions = versionsOf(example, folder)
    return { example, versions, good: good.accepted, bad, fresh, running }
  } finally {
    await verifier.stop()
  }
}

/** Milliseconds from the deactivation until a newly started process rejects the key. */
async function newProcessRejection(
  example: Example,
  folder: string,
  registry: Registry,
  token: string,
): Promise<number> {
  const start = performance.now()
  const verifier = await startVerifier(example, folder, registry)
  try {
    return await timeToRejection(verifier, token, start)
  } finally {
    await verifier.stop()
  }
}

async function timeToRejection(verifier: Verifier, token: string, start: number): Promise<number> {
  while ((await verifier.ask(token)).accepted) {
    if (performance.now() - start > noticeTimeoutMs) return Number.POSITIVE_INFINITY
    await delay(10)
  }
  return performance.now() - start
}

/** Copies and builds the example, together with the files that it refers to. */
async function prepare(example: Example): Promise<string> {
  const own = join('examples/verifiers', example.folder)
  for (const part of [own, 'client', 'tsconfig.json']) {
    cpSync(join(checkout, part), join(buildFolder, part), { recursive: true })
  }
  const folder = join(buildFolder, own)
  if (example.build !== undefined) await build(example.build, folder)
  return folder
}

/** Runs asynchronously, so that this process notices connections that the server closes. */
async function build(line: string, cwd: string): Promise<void> {
  const stdio = ['ignore', process.stderr, process.stderr] as const
  const child = spawn('sh', ['-c', line], { cwd, stdio: [...stdio] })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${line} ended with ${code}.`)
}

function isInstalled(tool: string): boolean {
  const folders = (process.env.PATH ?? '').split(':')
  return folders.some((folder) => existsSync(join(folder, tool)))
}

function versionsOf({ version, libraries }: Example, folder: string): string[] {
  const printed = execFileSync('sh', ['-c', version], { cwd: folder }).toString()
  const [tool = ''] = /\d+\.\d+(\.\d+)?/.exec(printed) ?? []
  const manifest = libraries && readFileSync(join(folder, libraries.manifest), 'utf8')
  const found = (libraries?.names ?? []).map((name) => {
    const [, number] =
      new RegExp(`${name}(?:/v\\d+)?[^\\d\\n]*\\n?[^\\d\\n]*([\\d.]+)`).exec(manifest ?? '') ?? []
    return `${name.replace(/.*\//, '')} ${number}`
  })
  return [...found, `${version.split(' ')[0]?.replace(/.*\//, '')} ${tool}`]
}

const requested = process.argv.slice(2)
const chosen = examples.filter(({ folder }) => requested.length === 0 || requested.includes(folder))
const registry = await startRegistry()
const outcomes: Outcome[] = []
try {
  for (const example of chosen) {
    process.stderr.write(`${example.name} …\n`)
    outcomes.push(await runExample(example, registry))
  }
} finally {
  await registry.stop()
}
process.stdout.write(tableOf(outcomes))
if (requested.length === 0) writePage(outcomes)
const failed = outcomes.filter((outcome) => !('missing' in outcome) && !isGood(outcome))
process.exitCode = failed.length === 0 ? 0 : 1
