import { globSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import base, { longTests } from './vitest.config.ts'

/** The tests whose bounds of real time are asserted only here. */
const timed = globSync('test/**/*.test.ts', { exclude: ['test/node_modules'] }).filter((file) =>
  readFileSync(file, 'utf8').includes('expectWithin('),
)

/** They take minutes: begun last, one would run alone at the end. */
const slowest = [
  'docs/jwks-uri.long',
  'agents/keep/kills.long',
  'faults/balancers.long',
  'faults/rolling-restarts.long',
  'intake/fresh-keys.long',
  'faults/clock.long',
  'console/accessibility.long',
]

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification) =>
      slowest.some((name) => moduleId.endsWith(`test/${name}.test.ts`))
    const sorted = await super.sort(files)
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))]
  }
}

const { projects: _, globalSetup = [], ...shared } = base.test ?? {}

export default defineConfig({
  test: {
    ...shared,
    include: [...longTests, ...timed],
    exclude: ['test/node_modules/**'],
    globalSetup: [...globalSetup, 'test/support/setup/console.ts'],
    sequence: { sequencer: SlowestFirst },
    // Bounds of real time hold on a machine that is not overloaded.
    maxWorkers: 5,
    testTimeout: 900_000,
    hookTimeout: 900_000,
    provide: { engine: 'sqlite', isTimed: true },
  },
})
