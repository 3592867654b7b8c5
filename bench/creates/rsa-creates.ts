import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { LoadGenerator } from '../load/client.ts'
import type { Figure } from '../report/figures.ts'
import { shuffled, spreadOf } from '../report/spread.ts'
import { allCores } from '../server/cores.ts'
import type { Subject } from '../server/subject.ts'
import type { Extent } from '../settings.ts'
import { createCalls, newProjects, requireListed } from './calls.ts'
import { rsaGroups } from './rsa-moduli.ts'

const primeCount = 48
const groupSize = primeCount / 2
/** Few, so that no key is turned away for want of a thread. */
const clients = 4

/** RSA-2048 keys that nobody has had, in groups for a project each. */
export const createRsaGroups = () => rsaGroups(2_048, primeCount)

/** Registers RSA-2048 keys, beside the intake's checks of the same keys alone. */
export async function measureRsaCreates(
  generator: LoadGenerator,
  { rounds, rsaKeys }: Extent,
  subjects: Subject[],
): Promise<Figure[]> {
  const groups = await createRsaGroups()
  const intake = fork(new URL('./intake-cost.ts', import.meta.url))
  const samples = new Map<Subject, { micros: number; ratio: number }[]>(
    subjects.map((subject) => [subject, []]),
  )
  const alone: number[] = []
  for (const subject of subjects) subject.pin(allCores)
  try {
    // The first round warms everything up.
    for (let round = -1; round < rounds; round += 1) {
      const chosen = shuffled(groups).slice(0, Math.ceil(rsaKeys / groupSize))
      intake.send(chosen.flat())
      const [checks]: number[] = await once(intake, 'message')
      for (const [subject, list] of shuffled([...samples])) {
        const micros = await registerRsa(generator, subject, chosen)
        if (round >= 0) list.push({ micros, ratio: micros / (checks ?? Number.NaN) })
      }
      if (round >= 0) alone.push(checks ?? Number.NaN)
    }
  } finally {
    intake.kill()
  }
  return figures(samples, alone)
}

/** Registers each group in a project of its own; answers the CPU time per key. */
export async function registerRsa(
  generator: LoadGenerator,
  subject: Subject,
  groups: string[][],
): Promise<number> {
  const projects = await newProjects(subject, groups.length)
  const pems = Array.from({ length: groupSize }, (_, place) =>
    groups.map((group) => group[place] ?? ''),
  )
  const { port, pids } = subject
  const { answered, cpuMicros, bodies } = await generator.run({
    port,
    pids,
    connections: clients,
    calls: createCalls(subject, projects, 'RS256', pems.flat()),
    keepBodies: true,
  })
  await requireListed(subject, projects, bodies)
  return cpuMicros / answered
}

function figures(
  samples: Map<Subject, { micros: number; ratio: number }[]>,
  alone: number[],
): Figure[] {
  const name = 'create RSA-2048'
  const made: Figure[] = [
    {
      name,
      server: 'intake alone',
      unit: 'µs',
      value: spreadOf(alone),
      note: 'CPU of the checks of one key, in a process that does nothing else',
    },
  ]
  for (const [subject, list] of samples) {
    made.push({
      name,
      server: subject.name,
      unit: 'µs',
      value: spreadOf(list.map(({ micros }) => micros)),
      note: 'CPU per create',
    })
    made.push({
      name,
      server: subject.name,
      unit: '×',
      value: spreadOf(list.map(({ ratio }) => ratio)),
      target: { most: 1.3 },
      note: 'CPU per create over that of the intake alone',
    })
  }
  return made
}
