import type { LoadGenerator } from '../load/client.ts'
import { residentMib } from '../load/usage.ts'
import type { Figure } from '../report/figures.ts'
import { spreadOf } from '../report/spread.ts'
import { serverCores } from '../server/cores.ts'
import type { Database } from '../server/databases.ts'
import { startServer } from '../server/start.ts'
import { createBenchmarks, createTools } from './benchmarks.ts'
import { openRegistry } from './registry.ts'

/** Heap limit in MiB. */
const heapLimitMib = 256

/** Memory of a server with a limited heap under the same random load. */
export async function measureWithHeapLimit(
  generator: LoadGenerator,
  database: Database,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Figure> {
  const nodeOptions = `--max-old-space-size=${heapLimitMib}`
  const server = await startServer(database, { nodeOptions })
  const tools = createTools(generator, seconds)
  try {
    server.pin(serverCores)
    const benchmarks = await createBenchmarks(tools, await openRegistry(server))
    const memory: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      for (const { access, run } of benchmarks) {
        if (access === 'hot') continue
        await run()
        memory.push(residentMib(server.pids))
      }
    }
    return memoryFigure(`, NODE_OPTIONS=${nodeOptions}`, server.name, Math.max(...memory))
  } finally {
    await tools.keys.close()
    await server.close()
  }
}

export function memoryFigure(how: string, server: string, mib: number): Figure {
  return {
    name: `memory under random load${how}`,
    server,
    unit: 'MiB',
    value: spreadOf([mib]),
    target: { max: 300 },
    note: 'resident, the maximum after any measurement',
  }
}
