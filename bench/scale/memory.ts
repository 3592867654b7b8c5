import type { LoadGenerator } from '../load/client.ts'
import { residentMib } from '../load/usage.ts'
import type { Figure } from '../report/figures.ts'
import { spreadOf } from '../report/spread.ts'
import { serverCores } from '../server/cores.ts'
import { type Database, startSubject } from '../server/subject.ts'
import { contendersOf, createTools } from './contenders.ts'
import { openRegistry } from './registry.ts'

/** As an operator bounds what V8 keeps, in MiB. */
const bound = 256

/** What a server whose heap is bounded takes under the same random load, round after round. */
export async function measureBounded(
  generator: LoadGenerator,
  database: Database,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Figure> {
  const nodeOptions = `--max-old-space-size=${bound}`
  const subject = await startSubject(database, { nodeOptions })
  const tools = createTools(generator, seconds)
  try {
    subject.pin(serverCores(1))
    const contenders = await contendersOf(tools, await openRegistry(subject))
    const memory: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      for (const { access, run } of contenders) {
        if (access === 'hot') continue
        await run()
        memory.push(residentMib(subject.pids))
      }
    }
    return memoryFigure(`, NODE_OPTIONS=${nodeOptions}`, subject.name, Math.max(...memory))
  } finally {
    await tools.keys.close()
    await subject.close()
  }
}

export function memoryFigure(how: string, server: string, mib: number): Figure {
  return {
    name: `memory under random load${how}`,
    server,
    unit: 'MiB',
    value: spreadOf([mib]),
    target: { most: 300 },
    note: 'resident, the most that was seen after any measurement',
  }
}
