import { startTcpProxy } from '../../test/support/network/tcp-proxy.ts'
import { fillRegistry } from '../fill/registry.ts'
import type { LoadGenerator } from '../load/client.ts'
import type { Figure } from '../report/figures.ts'
import { spreadOf } from '../report/spread.ts'
import { openRegistry } from '../scale/registry.ts'
import { serverCores } from '../server/cores.ts'
import type { Databases } from '../server/databases.ts'
import { startServer } from '../server/start.ts'

const roundTripMs = 80
const connections = 200
const size = { keys: 20_000, projects: 2_000 }

/** Key sets per second of processes that have just started and are far from their PostgreSQL. */
export async function measureColdFill(
  generator: LoadGenerator,
  { starts }: { starts: number },
  databases: Databases,
): Promise<Figure[]> {
  const database = await databases.create('postgres')
  await fillRegistry(database.url, size, () => {})
  const near = await startServer(database)
  const { projects } = await openRegistry(near)
  await near.close()
  const { port } = new URL(database.url)
  const proxy = await startTcpProxy(Number(port))
  proxy.delay(roundTripMs)
  const far = { ...database, url: database.url.replace(port, String(proxy.port)) }
  const forms = [
    { by: 'id', refs: projects, rates: [] as number[] },
    { by: 'name', refs: projects.map(nameOf), rates: [] as number[] },
  ]
  for (let count = 0; count < starts; count += 1) {
    for (const { refs, rates } of forms) {
      const server = await startServer(far)
      server.pin(serverCores)
      const calls = refs.map((ref) => ({
        method: 'GET',
        path: `/v1/projects/${ref}/.well-known/jwks.json`,
        headers: {},
        expected: { status: 200, part: '"kty"' },
      }))
      const { answered, seconds } = await generator.run({
        port: server.port,
        pids: server.pids,
        connections,
        calls,
      })
      rates.push(answered / seconds)
      await server.close()
    }
  }
  await proxy.close()
  return forms.map(({ by, rates }) => ({
    name: `cold process, key sets by ${by}`,
    server: near.name,
    unit: '/s',
    value: spreadOf(rates),
    target: { min: 500 },
    note: `key sets of ${size.projects} projects, each once, with the database ${roundTripMs} ms away`,
  }))
}

/** The name by which `fillRegistry` creates the project at this index. */
function nameOf(_id: string, index: number): string {
  return `bench-${String(index).padStart(6, '0')}`
}
