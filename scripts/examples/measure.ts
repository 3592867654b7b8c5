import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Example } from './catalog.ts'
import { type Follower, startFollower } from './follower.ts'
import { type Project, type Registry, startRegistry } from './registry.ts'
import {
  type Measurements,
  type PreparedKey,
  prepareKey,
  scenarios,
  type Watch,
} from './scenarios.ts'
import { type LaunchOptions, startVerifier } from './verifier.ts'

/** An example without or with a follower. */
export interface Variant {
  example: Example
  folder: string
  isFollowed: boolean
}

/** The measurements, or why there are none. */
export type Result = { measured: Measurements } | { failure: string }

export interface MeasureOptions {
  watch: Watch
  /** The scenarios to run, by their names in `scenarios`. */
  scenarioNames: readonly string[]
  logs: string
  report(message: string): void
}

/** Services that start at the same time: more would only slow each other down. */
const concurrentStarts = 3

/** Measures all variants at the same time, each scenario with a service and a project of its own. */
export async function measure(
  variants: readonly Variant[],
  options: MeasureOptions,
): Promise<Map<Variant, Result>> {
  mkdirSync(options.logs, { recursive: true })
  const servers = { lasting: await startRegistry(), stopped: await startRegistry() }
  const runs = await Promise.all(
    variants.flatMap((variant) =>
      options.scenarioNames.map((name) => prepareRun(variant, name, servers)),
    ),
  )
  const followers = await startFollowers(runs)
  const takeTurn = createLimit(concurrentStarts)
  const outages = createBarrier(
    runs.filter(({ server }) => server === servers.stopped).length,
    () => servers.stopped.stop(),
  )
  try {
    const parts = await Promise.all(
      runs.map(async (run) => {
        const part = await measureRun(run, { ...options, followers, takeTurn, outages })
        return { variant: run.variant, part }
      }),
    )
    return new Map(
      variants.map((variant) => [
        variant,
        merge(parts.filter((one) => one.variant === variant).map(({ part }) => part)),
      ]),
    )
  } finally {
    for (const follower of followers.values()) await follower.stop()
    await servers.stopped.stop()
    await servers.lasting.stop()
  }
}

interface Run {
  variant: Variant
  scenario: string
  server: Registry
  project: Project
  keys: PreparedKey[]
}

async function prepareRun(
  variant: Variant,
  scenario: string,
  servers: { lasting: Registry; stopped: Registry },
): Promise<Run> {
  const server = scenario === 'outage' ? servers.stopped : servers.lasting
  const project = await server.newProject()
  const keys = []
  for (const algorithm of scenarios[scenario]?.algorithms ?? []) {
    keys.push(await prepareKey(project, algorithm))
  }
  return { variant, scenario, server, project, keys }
}

/** Starts a follower for each server. */
async function startFollowers(runs: readonly Run[]): Promise<Map<Registry, Follower>> {
  const followers = new Map<Registry, Follower>()
  const followed = runs.filter(({ variant }) => {
    return variant.isFollowed && variant.example.followed === 'listen'
  })
  for (const server of new Set(followed.map((run) => run.server))) {
    const projects = followed.filter((run) => run.server === server).map((run) => run.project)
    followers.set(server, await startFollower(server, projects))
  }
  return followers
}

type Part = { measured: Partial<Measurements> } | { failure: string }

async function measureRun(
  run: Run,
  context: MeasureOptions & {
    followers: Map<Registry, Follower>
    takeTurn: <Value>(work: () => Promise<Value>) => Promise<Value>
    outages: { arrive(): Promise<void> }
  },
): Promise<Part> {
  const { scenario, project, keys } = run
  const { watch, report, takeTurn, outages } = context
  let hasArrived = false
  const arrive = () => {
    hasArrived = true
    return outages.arrive()
  }
  const label = labelOf(run)
  try {
    const verifier = await takeTurn(() => startVerifier(launchOptions(run, context)))
    try {
      const measured = await scenarios[scenario]?.run({ project, verifier, watch }, keys, arrive)
      report(`${label}: ${JSON.stringify(measured)}`)
      return { measured: measured ?? {} }
    } finally {
      await verifier.stop()
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : error
    report(`${label}: ${reason}`)
    return { failure: `${scenario}: ${reason}` }
  } finally {
    // A service that failed must not keep the others waiting.
    if (scenario === 'outage' && !hasArrived) void arrive()
  }
}

function labelOf({ variant: { example, isFollowed }, scenario }: Run): string {
  return `${example.folder}, ${isFollowed ? 'followed' : 'plain'}, ${scenario}`
}

function launchOptions(
  run: Run,
  { followers, logs }: { followers: Map<Registry, Follower>; logs: string },
): LaunchOptions {
  const { example, folder, isFollowed } = run.variant
  const own = isFollowed && example.followed !== 'listen' ? example.followed?.run : example.run
  return {
    run: own ?? '',
    folder,
    url: run.server.url,
    issuer: run.project.issuer,
    env: followerVariables(run, followers),
    log: join(logs, `${labelOf(run).replaceAll(/,? /g, '-')}.log`),
  }
}

function followerVariables(
  { variant, server, project }: Run,
  followers: Map<Registry, Follower>,
): Record<string, string> {
  const follower = followers.get(server)
  if (!variant.isFollowed || variant.example.followed !== 'listen' || follower === undefined) {
    return {}
  }
  return { JWKS_URL: follower.jwksUrl(project), CACHE_SECONDS: '1' }
}

function merge(parts: readonly Part[]): Result {
  const failures = parts.flatMap((part) => ('failure' in part ? [part.failure] : []))
  if (failures.length > 0) return { failure: failures.join('; ') }
  const measured = parts.flatMap((part) => ('measured' in part ? [part.measured] : []))
  const broken = measured.flatMap((part) => part.broken ?? [])
  return { measured: { ...(Object.assign({}, ...measured) as Measurements), broken } }
}

function createLimit(permits: number) {
  const waiting: (() => void)[] = []
  let free = permits
  return async <Value>(work: () => Promise<Value>): Promise<Value> => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    else free -= 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}

/** Runs the action once all have arrived. */
function createBarrier(count: number, action: () => Promise<void>) {
  let missing = count
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return {
    async arrive(): Promise<void> {
      missing -= 1
      if (missing === 0) await action().then(open)
      await opened
    },
  }
}
