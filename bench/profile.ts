/**
 * Where the server's time goes while one operation is asked as fast as it answers: the functions with
 * the most time of their own, from a profile of V8 (--cpu-prof), and the parts that they belong to.
 *
 *   npm run bench:profile -- --operation 'list of 3 keys' [--engine postgres]
 */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { startGenerator } from './load/client.ts'
import { operations } from './operations.ts'
import { capture } from './server/capture.ts'
import { createDatabases, startSubject } from './server/subject.ts'
import { connections } from './settings.ts'
import { stockShelf } from './shelf.ts'

const seconds = 10
const lines = 12

const { values } = parseArgs({
  options: {
    operation: { type: 'string', default: operations[0]?.name ?? '' },
    engine: { type: 'string', default: 'sqlite' },
  },
})

/** As V8 writes it: https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile. */
interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  timeDeltas: number[]
}

/** The package or the folder that a function is in. */
function partOf(url: string): string {
  if (url === '') return 'V8 and native code'
  if (url.startsWith('node:')) return 'Node'
  const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)(?!.*node_modules\/)/.exec(url) ?? []
  const [, folder] = /\/(src\/[^/]+)/.exec(url) ?? []
  return name ?? folder ?? url
}

function selfTimes(
  { nodes, samples, timeDeltas }: Profile,
  nameOf: (node: Profile['nodes'][number]) => string,
) {
  const names = new Map(nodes.map((node) => [node.id, nameOf(node)]))
  const times = new Map<string, number>()
  for (const [index, id] of samples.entries()) {
    const name = names.get(id) ?? ''
    if (name.startsWith('(idle)')) continue
    times.set(name, (times.get(name) ?? 0) + (timeDeltas[index] ?? 0))
  }
  return [...times].sort(([, a], [, b]) => b - a)
}

function print(title: string, times: [string, number][]): void {
  const total = times.reduce((sum, [, time]) => sum + time, 0)
  process.stdout.write(`\n${title}\n`)
  for (const [name, time] of times.slice(0, lines)) {
    process.stdout.write(`${((time / total) * 100).toFixed(1).padStart(6)} %  ${name}\n`)
  }
}

const operation = operations.find(({ name }) => name === values.operation)
if (operation === undefined) {
  throw new Error(`--operation is one of: ${operations.map(({ name }) => name).join('; ')}.`)
}
const folder = mkdtempSync(join(tmpdir(), 'pubring-profile-'))
const databases = createDatabases()
const generator = startGenerator()
try {
  const database = await databases.make(values.engine === 'postgres' ? 'postgres' : 'sqlite')
  const options = `--cpu-prof --cpu-prof-dir=${folder}`
  const subject = await startSubject(database, { nodeOptions: options })
  try {
    const shelf = await stockShelf(subject.replica)
    const { port } = subject
    const { status, body } = await capture(port, operation.call(shelf))
    const calls = [{ ...operation.call(shelf), expected: { status, body } }]
    await generator.run({ port, pids: [], connections, calls, seconds })
    subject.replica.signal('SIGTERM')
    await subject.replica.ended
  } finally {
    await subject.close()
  }
  // Threads write profiles of their own; that of the process is the one that answered.
  const [largest] = globSync(join(folder, '*.cpuprofile'))
    .map((file) => readFileSync(file, 'utf8'))
    .sort((a, b) => b.length - a.length)
  const profile: Profile = JSON.parse(largest ?? '')
  print(
    `${operation.name}, by part`,
    selfTimes(profile, ({ callFrame }) => partOf(callFrame.url)),
  )
  print(
    `${operation.name}, by function`,
    selfTimes(
      profile,
      ({ callFrame: { functionName, url, lineNumber } }) =>
        `${functionName || '(anonymous)'}  ${url.replace(/^.*\/(?=node_modules|src)/, '')}:${lineNumber + 1}`,
    ),
  )
} finally {
  generator.close()
  await databases.close()
  rmSync(folder, { recursive: true, force: true })
}
