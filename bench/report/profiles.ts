import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** As V8 writes it: https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile. */
export interface Profile {
  nodes: ProfileNode[]
  samples: number[]
  timeDeltas: number[]
}

interface ProfileNode {
  id: number
  callFrame: { functionName: string; url: string; lineNumber: number }
}

/** The threads, by the module that runs in each alone; those of the intake take no options of Node. */
const threads = [
  { name: 'main thread', module: 'src/main.ts' },
  { name: 'writer thread', module: 'src/storage/sqlite/writer.ts' },
]

/** Lines of a table that say something. */
const lines = 12

/** The profiles that the threads of one process left in the folder (`--cpu-prof`), by their names. */
export function readProfiles(folder: string): { thread: string; profile: Profile }[] {
  return globSync(join(folder, '*.cpuprofile')).flatMap((file) => {
    const profile: Profile = JSON.parse(readFileSync(file, 'utf8'))
    const urls = new Set(profile.nodes.map(({ callFrame }) => callFrame.url))
    const thread = threads.find(({ module }) => [...urls].some((url) => url.endsWith(module)))
    return thread === undefined ? [] : [{ thread: thread.name, profile }]
  })
}

/** Time of their own, by part and by function, in percent of the time in which the thread was busy. */
export function profileText(title: string, profile: Profile): string {
  return [
    table(
      `${title}, by part`,
      selfTimes(profile, ({ callFrame }) => partOf(callFrame.url)),
    ),
    table(`${title}, by function`, selfTimes(profile, functionOf)),
  ].join('\n')
}

/** The package or the folder that a function is in. */
function partOf(url: string): string {
  if (url === '') return 'V8 and native code'
  if (url.startsWith('node:')) return 'Node'
  const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)(?!.*node_modules\/)/.exec(url) ?? []
  const [, folder] = /\/(src\/(?:core\/intake|[^/]+))/.exec(url) ?? []
  return name ?? folder ?? url
}

function functionOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const place = url.replace(/^.*\/(?=node_modules|src)/, '')
  return `${functionName || '(anonymous)'}  ${place}:${lineNumber + 1}`
}

function selfTimes(
  { nodes, samples, timeDeltas }: Profile,
  nameOf: (node: ProfileNode) => string,
): [string, number][] {
  const names = new Map(nodes.map((node) => [node.id, nameOf(node)]))
  const idle = new Set(
    nodes.filter(({ callFrame }) => callFrame.functionName === '(idle)').map(({ id }) => id),
  )
  const times = new Map<string, number>()
  for (const [index, id] of samples.entries()) {
    if (idle.has(id)) continue
    const name = names.get(id) ?? ''
    times.set(name, (times.get(name) ?? 0) + (timeDeltas[index] ?? 0))
  }
  return [...times].sort(([, a], [, b]) => b - a)
}

function table(title: string, times: [string, number][]): string {
  const total = times.reduce((sum, [, time]) => sum + time, 0)
  const shown = times
    .slice(0, lines)
    .map(([name, time]) => `${((time / total) * 100).toFixed(1).padStart(6)} %  ${name}\n`)
  return `\n${title}: ${(total / 1_000).toFixed(0)} ms busy\n${shown.join('')}`
}
