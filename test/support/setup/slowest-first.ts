import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Small files that take long: Vitest begins large ones first, until it knows how long each takes. */
const slow = [
  'agents/follow/gateways',
  'agents/keep/kills',
  'agents/keep/kills.long',
  'console/accessibility.long',
  'docs/jwks-uri.long',
  'docs/readme',
  'e2e/failed-start',
  'e2e/first-start',
  'e2e/held-everywhere.long',
  'e2e/many-keys',
  'faults/balancers.long',
  'faults/clock.long',
  'faults/rolling-restarts.long',
  'faults/slow-clients.long',
  'faults/soak.long',
  'features/token-checks/key-history-model.long',
  'intake/fresh-keys',
  'intake/fresh-keys.long',
  'kernel/http/server/stalled-readers',
  'kernel/http/server/stalled-readers.long',
].map((name) => `test/${name}.test.ts`)

const isSlow = ({ moduleId }: TestSpecification) => slow.some((file) => moduleId.endsWith(file))

/** Begins slow files first in their project: begun last, one would run alone at the end. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project)
    return [...projects.values()].flatMap((sorted) => [
      ...sorted.filter(isSlow),
      ...sorted.filter((file) => !isSlow(file)),
    ])
  }
}
