import { connections } from '../config.ts'
import { createCalls } from '../creates/calls.ts'
import { createFreshKeys, type FreshKeys } from '../fill/fresh-keys.ts'
import type { LoadGenerator } from '../load/client.ts'
import type { Call, LoadResult } from '../load/task.ts'
import { capture, captureCall } from '../server/capture.ts'
import { getRequest, type Registry, randomProjects } from './registry.ts'

/** One operation on one registry. */
export interface Benchmark {
  operation: string
  access: 'hot' | 'random'
  registry: Registry
  /** CPU of the server per request, in microseconds. */
  run(): Promise<number>
}

/** Requests of one random measurement: more than are answered in it, so few repeat. */
const randomRequests = 30_000
const createsPerRun = 320
const hotProjects = 32

export interface Tools {
  generator: LoadGenerator
  keys: FreshKeys
  seconds: number
}

export const createTools = (generator: LoadGenerator, seconds: number): Tools => ({
  generator,
  keys: createFreshKeys(),
  seconds,
})

export async function createBenchmarks(tools: Tools, registry: Registry): Promise<Benchmark[]> {
  const [list, jwks] = ['jwt-keys', '.well-known/jwks.json']
  return [
    await hotRead(tools, registry, 'list of 10 keys', list),
    await randomRead(tools, registry, 'list of 10 keys', list, true),
    await hotRead(tools, registry, 'JWKS', jwks),
    await randomRead(tools, registry, 'JWKS', jwks, false),
    create(tools, registry, 'hot'),
    create(tools, registry, 'random'),
  ]
}

async function measureCalls(
  { generator, seconds }: Tools,
  { server }: Registry,
  calls: Call[],
): Promise<number> {
  const { port, pids } = server
  return perRequest(await generator.run({ port, pids, connections, calls, seconds }))
}

function perRequest({ cpuMicros, answered }: LoadResult): number {
  return cpuMicros / answered
}

async function hotRead(
  tools: Tools,
  registry: Registry,
  operation: string,
  document: string,
): Promise<Benchmark> {
  const [project = ''] = randomProjects(registry, 1)
  const request = getRequest(registry.server, `/v1/projects/${project}/${document}`)
  const calls = [await captureCall(registry.server.port, request)]
  return { operation, access: 'hot', registry, run: () => measureCalls(tools, registry, calls) }
}

/** All projects have the same number of keys, so the responses have the same length. */
async function randomRead(
  tools: Tools,
  registry: Registry,
  operation: string,
  document: string,
  namesProject: boolean,
): Promise<Benchmark> {
  const { server } = registry
  const request = (project: string) => getRequest(server, `/v1/projects/${project}/${document}`)
  const [any = ''] = randomProjects(registry, 1)
  const { body } = await capture(server.port, request(any))
  const call = (project: string): Call => ({
    ...request(project),
    expected: {
      status: 200,
      length: Buffer.byteLength(body),
      ...(namesProject ? { part: `"projectId":"${project}"` } : {}),
    },
  })
  return {
    operation,
    access: 'random',
    registry,
    run: () => measureCalls(tools, registry, randomProjects(registry, randomRequests).map(call)),
  }
}

/** Deletes the keys afterwards, so that projects do not grow from round to round. */
function create(tools: Tools, registry: Registry, access: Benchmark['access']): Benchmark {
  const { server } = registry
  const hot = randomProjects(registry, hotProjects)
  return {
    operation: 'create P-256',
    access,
    registry,
    async run() {
      const newKeys = await tools.keys.take(createsPerRun)
      const projects = access === 'hot' ? hot : randomProjects(registry, createsPerRun)
      const pems = newKeys.map(({ key }) => key.publicKeyPem)
      const calls = createCalls(server, projects, 'ES256', pems)
      const { port, pids } = server
      const task = { port, pids, connections, calls, keepBodies: true }
      const result = await tools.generator.run(task)
      await removeAll(tools, registry, projects)
      return perRequest(result)
    },
  }
}

async function removeAll(tools: Tools, { server }: Registry, projects: string[]): Promise<void> {
  const { port, replica } = server
  const headers = { 'X-Api-Key': replica.apiKey, 'Content-Type': 'application/json' }
  const paths: string[] = []
  for (const project of new Set(projects)) {
    const { body } = await capture(port, getRequest(server, `/v1/projects/${project}/jwt-keys`))
    const listed: { id: string; label: string }[] = JSON.parse(body)
    const created = listed.filter(({ label }) => label === 'bench')
    paths.push(...created.map(({ id }) => `/v1/projects/${project}/jwt-keys/${id}`))
  }
  if (paths.length !== createsPerRun) throw new Error(`${paths.length} keys are listed`)
  const calls = (method: string, status: number, body?: string): Call[] =>
    paths.map((path) => ({
      method,
      path,
      headers: body === undefined ? { 'X-Api-Key': replica.apiKey } : headers,
      ...(body === undefined ? {} : { body }),
      expected: { status },
    }))
  const task = { port, pids: [], connections }
  await tools.generator.run({ ...task, calls: calls('PATCH', 200, '{"active":false}') })
  await tools.generator.run({ ...task, calls: calls('DELETE', 204) })
}
