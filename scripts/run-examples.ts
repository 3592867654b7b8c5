/**
 * Builds the verifiers of `examples/verifiers` whose toolchains are installed, runs each as a service against
 * a real server, without and with a follower, measures how soon it learns of changed keys, and writes the
 * results to `docs/verifiers.md`. Exits with 1 if a verifier takes a bad token or refuses a good one.
 *
 *   node scripts/run-examples.ts [--watch SECONDS] [--only plain|followed] [--bad-tokens] [FOLDER…]
 *
 * Services without a follower are watched for 660 s, or as long as `--watch` says. With `--bad-tokens` none is
 * watched, and the times of the last run stay, as do the results of examples that are not run. With `--faults`
 * it prints what those with a follower by name do when the project loses the name, when a backup is restored
 * and when the follower dies.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { type Example, examples } from './examples/catalog.ts'
import { faultTable, measureFaults } from './examples/faults.ts'
import { measure, type Variant } from './examples/measure.ts'
import { command } from './examples/registry.ts'
import {
  isGood,
  isSame,
  type MeasuredRow,
  type Row,
  readRows,
  storeRows,
  tableOf,
  writePage,
} from './examples/report.ts'
import { scenarios } from './examples/scenarios.ts'

const checkout = join(import.meta.dirname, '..')
/** Builds are kept for the next run. */
const buildFolder = join(tmpdir(), 'pubring-examples')

/** With a follower, changes are expected within a second or two. */
const followedSeconds = 60

/** Copies and builds the example, together with the files that it refers to. */
async function prepare(example: Example): Promise<void> {
  const own = join('examples/verifiers', example.folder)
  const ending = 'examples/verifiers/until-one-ends.sh'
  for (const part of [own, ending, 'packages/client', 'package.json', 'tsconfig.json']) {
    cpSync(join(checkout, part), join(buildFolder, part), { recursive: true, filter: isSource })
  }
  if (example.build !== undefined) await build(example.build, buildFolderOf(example))
}

function buildFolderOf({ folder }: Example): string {
  return join(buildFolder, 'examples/verifiers', folder)
}

/** Not what was built in the checkout. */
function isSource(path: string): boolean {
  return !['.venv', 'node_modules', 'target'].includes(basename(path))
}

async function build(line: string, cwd: string): Promise<void> {
  const stdio = ['ignore', process.stderr, process.stderr] as const
  const child = spawn('sh', ['-c', line], { cwd, stdio: [...stdio] })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${line} ended with ${code}.`)
}

function isInstalled(tool: string): boolean {
  if (tool.startsWith('/')) return existsSync(tool)
  const folders = (process.env.PATH ?? '').split(':')
  return folders.some((folder) => existsSync(join(folder, tool)))
}

/** Puts `pubring` on the path of the examples' scripts. */
function providePubring(): void {
  const folder = join(buildFolder, 'bin')
  mkdirSync(folder, { recursive: true })
  rmSync(join(folder, 'pubring'), { force: true })
  symlinkSync(command, join(folder, 'pubring'))
  process.env.PATH = `${folder}:${process.env.PATH}`
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

/** The row of the last run with the bad tokens of this one, or why there is none. */
function withTimesOfLastRun({ result, ...name }: MeasuredRow): Row | string {
  if ('failure' in result) return result.failure
  const last = readRows().find((one) => isSame(one, name))
  if (last === undefined || 'missing' in last || 'failure' in last.result) {
    return 'no earlier run has its times: run it without --bad-tokens'
  }
  const { bad } = result.measured
  return { ...last, result: { measured: { ...last.result.measured, bad } } }
}

const { values, positionals } = parseArgs({
  options: {
    watch: { type: 'string', default: '660' },
    only: { type: 'string', default: '' },
    'bad-tokens': { type: 'boolean', default: false },
    faults: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const isShort = values['bad-tokens']
const plainSeconds = Number(values.watch)
const scenarioNames = isShort ? ['bad tokens'] : Object.keys(scenarios)
const chosen = examples.filter(
  ({ folder }) => positionals.length === 0 || positionals.includes(folder),
)
providePubring()
const rows: Row[] = []
const variants: Variant[] = []
for (const example of chosen) {
  const { folder } = example
  const missing = example.tools.filter((tool) => !isInstalled(tool))
  if (missing.length === 0) {
    process.stderr.write(`${example.name}: building\n`)
    await prepare(example)
  }
  for (const isFollowed of [false, true]) {
    if (values.only !== '' && (values.only === 'followed') !== isFollowed) continue
    if ((isFollowed ? example.followed : example.run) === undefined) continue
    if (missing.length > 0) rows.push({ folder, isFollowed, missing })
    else variants.push({ example, folder: buildFolderOf(example), isFollowed })
  }
}
if (values.faults) {
  const found = variants
    .filter(({ isFollowed }) => isFollowed)
    .map(async ({ example, folder }) => {
      const logs = join(buildFolder, 'logs')
      mkdirSync(logs, { recursive: true })
      return [
        versionsOf(example, folder).join(', '),
        await measureFaults(example, folder, logs),
      ] as const
    })
  process.stdout.write(faultTable(await Promise.all(found)))
  process.exit()
}
for (const isFollowed of [true, false]) {
  const watched = isFollowed ? followedSeconds : plainSeconds
  const limitMs = isShort ? 0 : watched * 1_000
  const watch = { intervalMs: isFollowed ? 50 : 1_000, limitMs }
  const group = variants.filter((variant) => variant.isFollowed === isFollowed)
  if (group.length === 0) continue
  const report = (message: string) => void process.stderr.write(`${message}\n`)
  report(
    isShort
      ? `Trying bad tokens on ${group.length} verifiers`
      : `Watching ${group.length} verifiers, each for up to ${watched} s`,
  )
  const logs = join(buildFolder, 'logs')
  const results = await measure(group, { watch, scenarioNames, logs, report })
  for (const [{ example }, result] of results) {
    const { folder } = example
    const versions = versionsOf(example, buildFolderOf(example))
    const date = new Date().toISOString().slice(0, 10)
    const row = { folder, isFollowed, versions, date, result, watched }
    const stored = isShort ? withTimesOfLastRun(row) : row
    if (typeof stored !== 'string') rows.push(stored)
    else {
      report(`${folder}, ${isFollowed ? 'followed' : 'plain'}: nothing is stored: ${stored}`)
      process.exitCode = 1
    }
  }
}
const all = storeRows(rows)
process.stdout.write(tableOf(rows))
writePage(all)
if (!rows.every(isGood)) process.exitCode = 1
