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

/** Threads, recognized by a module that runs only there. Intake threads take no Node options. */
const threads = [
  { name: 'main thread', module: 'packages/cli/src/main.ts' },
  { name: 'writer thread', module: 'packages/server/src/writer-thread.ts' },
]

/** Rows of a table. */
const rows = 12

/** The profiles that `--cpu-prof` wrote to the folder, by thread. */
export function readProfiles(folder: string): { thread: string; profile: Profile }[] {
  return globSync(join(folder, '*.cpuprofile')).flatMap((file) => {
    const profile: Profile = JSON.parse(readFileSync(file, 'utf8'))
    const urls = new Set(profile.nodes.map(({ callFrame }) => callFrame.url))
    const thread = threads.find(({ module }) => [...urls].some((url) => url.endsWith(module)))
    return thread === undefined ? [] : [{ thread: thread.name, profile }]
  })
}

/** Self time by part and by function, in percent of the thread's busy time. */
export function profileText(title: string, profile: Profile): string {
  return [
    table(
      `${title}, by part`,
      selfTimes(profile, ({ callFrame }) => partOf(callFrame.url)),
    ),
    table(`${title}, by function`, selfTimes(profile, functionOf)),
  ].join('\n')
}

/** The package or source folder of a function. */
function partOf(url: string): string {
  if (url === '') return 'V8 and native code'
  if (url.startsWith('node:')) return 'Node'
  const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)(?!.*node_modules\/)/.exec(url) ?? []
  const [, folder] = /\/packages\/([^/]+\/src\/[^/]+)/.exec(url) ?? []
  return name ?? folder ?? url
}

function functionOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const path = url.replace(/^.*\/(?=node_modules|packages)/, '')
  return `${functionName || '(anonymous)'}  ${path}:${lineNumber + 1}`
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
    .slice(0, rows)
    .map(([name, time]) => `${((time / total) * 100).toFixed(1).padStart(6)} %  ${name}\n`)
  return `\n${title}: ${(total / 1_000).toFixed(0)} ms busy\n${shown.join('')}`
}
