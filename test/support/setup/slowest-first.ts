import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The slowest files, the slowest first. Vitest begins large ones first, until it knows how long each takes. */
const slow = [
  'docs/jwks-uri.long',
  'agents/keep/kills.long',
  'faults/balancers.long',
  'faults/rolling-restarts.long',
  'console/accessibility.long',
  'faults/postgres-outages',
  'intake/fresh-keys.long',
  'docs/ledger-verifier.long',
  'faults/kills.long',
  'console/signing-samples.long',
  'kernel/http/server/stalled-readers.long',
  'e2e/held-everywhere.long',
  'faults/slow-clients.long',
  'e2e/audit.long',
  'package/release.long',
  'docs/quick-start.long',
  'docs/commands.long',
  'features/token-checks/key-history-model.long',
  'console/registration-links',
  'console/sign-in',
  'kernel/storage/table-tampering',
  'agents/follow/history',
  'agents/follow/follow',
  'agents/keep/keep',
  'agents/follow/proven',
  'agents/keep/faults',
  'intake/advice',
  'e2e/many-keys',
  'e2e/backup',
  'agents/keep/kills',
  'e2e/first-start',
  'agents/follow/gateways',
  'docs/readme',
].map((name) => `/test/${name}.test.ts`)

const rank = ({ moduleId }: TestSpecification) => slow.findIndex((file) => moduleId.endsWith(file))

/** Begins slow files first in their project: begun last, one would run alone at the end. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project)
    return [...projects.values()].flatMap((sorted) => [
      ...sorted.filter((file) => rank(file) >= 0).sort((one, other) => rank(one) - rank(other)),
      ...sorted.filter((file) => rank(file) < 0),
    ])
  }
}
