import { createCalls } from '../creates/calls.ts'
import { createFreshKeys, type FreshKeys } from '../fill/fresh-keys.ts'
import type { LoadGenerator } from '../load/client.ts'
import type { Call, LoadResult } from '../load/task.ts'
import { capture } from '../server/capture.ts'
import { connections } from '../settings.ts'
import { anyOf, get, known, type Registry } from './registry.ts'

/** How one operation is asked of one registry. */
export interface Contender {
  operation: string
  access: 'hot' | 'random'
  registry: Registry
  /** CPU of the server per request, in microseconds. */
  run(): Promise<number>
}

/** Requests of one random measurement: more than are answered in it, so that few come twice. */
const randomRequests = 30_000
const createdAtOnce = 320
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

export async function contendersOf(tools: Tools, registry: Registry): Promise<Contender[]> {
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

async function demand(
  { generator, seconds }: Tools,
  { subject }: Registry,
  calls: Call[],
): Promise<number> {
  const { port, pids } = subject
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
): Promise<Contender> {
  const [project = ''] = anyOf(registry, 1)
  const request = get(registry.subject, `/v1/projects/${project}/${document}`)
  const calls = await known(registry.subject, request)
  return { operation, access: 'hot', registry, run: () => demand(tools, registry, calls) }
}

/** All projects have as many keys, so their answers have as many octets. */
async function randomRead(
  tools: Tools,
  registry: Registry,
  operation: string,
  document: string,
  named: boolean,
): Promise<Contender> {
  const { subject } = registry
  const request = (project: string) => get(subject, `/v1/projects/${project}/${document}`)
  const [any = ''] = anyOf(registry, 1)
  const { body } = await capture(subject.port, request(any))
  const call = (project: string): Call => ({
    ...request(project),
    expected: {
      status: 200,
      length: Buffer.byteLength(body),
      ...(named ? { part: `"projectId":"${project}"` } : {}),
    },
  })
  return {
    operation,
    access: 'random',
    registry,
    run: () => demand(tools, registry, anyOf(registry, randomRequests).map(call)),
  }
}

/** Afterwards the keys are deleted again, so that projects do not grow from round to round. */
function create(tools: Tools, registry: Registry, access: Contender['access']): Contender {
  const { subject } = registry
  const hot = anyOf(registry, hotProjects)
  return {
    operation: 'create P-256',
    access,
    registry,
    async run() {
      const fresh = await tools.keys.take(createdAtOnce)
      const projects = access === 'hot' ? hot : anyOf(registry, createdAtOnce)
      const pems = fresh.map(({ key }) => key.publicKeyPem)
      const calls = createCalls(subject, projects, 'ES256', pems)
      const { port, pids } = subject
      const task = { port, pids, connections, calls, keepBodies: true }
      const result = await tools.generator.run(task)
      await removeAll(tools, registry, projects)
      return perRequest(result)
    },
  }
}

async function removeAll(tools: Tools, { subject }: Registry, projects: string[]): Promise<void> {
  const { port, replica } = subject
  const headers = { 'X-Api-Key': replica.apiKey, 'Content-Type': 'application/json' }
  const paths: string[] = []
  for (const project of new Set(projects)) {
    const { body } = await capture(port, get(subject, `/v1/projects/${project}/jwt-keys`))
    const found: { id: string; label: string }[] = JSON.parse(body)
    const made = found.filter(({ label }) => label === 'bench')
    paths.push(...made.map(({ id }) => `/v1/projects/${project}/jwt-keys/${id}`))
  }
  if (paths.length !== createdAtOnce) throw new Error(`${paths.length} keys are listed`)
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
