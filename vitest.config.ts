import { availableParallelism } from 'node:os'
import process from 'node:process'
import { defineConfig } from 'vitest/config'
import { SlowestFirst } from './test/support/setup/slowest-first.ts'
import { waitLimitMs } from './test/support/waiting.ts'

/** Files that run on PostgreSQL too; all run on SQLite. */
const onBothEngines = [
  'test/kernel/storage/**/*.test.ts',
  // Locks decide between concurrent changes, and what a change is admitted on.
  'test/features/keys/key-races.test.ts',
  'test/kernel/access/{access-until-commit,remaining,shares}.test.ts',
  // Each engine tells in its own way that another process has changed something.
  'test/features/publishing/{faults,freshness,held-requests}.test.ts',
  'test/kernel/ledger/{contradictions,revision-watch}.test.ts',
  // Their figures and log lines are about the engine.
  'test/kernel/http/server/metrics.test.ts',
  // They read pages by SQL of their own.
  'test/features/{audit/passes,events/history,search/*}.test.ts',
  // Its rows are in no ledger, so only SQL accounts for them.
  'test/features/key-uses/*.test.ts',
  'test/features/registration-links/races.test.ts',
]

/** Tests that take minutes, or in which processes and database servers fail: `test:long` runs them. */
export const longTests = ['test/**/*.long.test.ts', 'test/{engines,faults}/**/*.test.ts']

/** The tests of packages, and long ones. */
const notRun = ['test/node_modules/**', ...longTests]

/** What a worker needs with its servers or browser, in bytes. */
const workerMemory = 1024 ** 3

/** Tests wait for half of their time, for processes, outages and time limits. */
const maxWorkers = Math.max(
  1,
  Math.min(
    Math.ceil(2.5 * availableParallelism()),
    Math.floor(process.availableMemory() / workerMemory),
  ),
)

export default defineConfig({
  test: {
    pool: 'forks',
    // Files share a worker and the modules that it has loaded.
    isolate: false,
    // Node strips the types, as it does in production.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    execArgv: [`--import=${import.meta.resolve('./test/support/setup/preloaded.ts')}`],
    setupFiles: 'test/support/setup/worker.ts',
    maxWorkers,
    sequence: { sequencer: SlowestFirst },
    // The OpenID provider of the tests warns that it is one.
    onConsoleLog: (line) => !line.includes('oidc-provider'),
    // Limits that are only limits: a machine may be slow, or busy with something else.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: waitLimitMs } },
    globalSetup: ['run-folder', 'bundles', 'databases'].map(
      (name) => `test/support/setup/${name}.ts`,
    ),
    provide: { isTimed: false, isDay: false },
    projects: [
      {
        extends: true,
        test: {
          name: 'sqlite',
          include: ['test/**/*.test.ts'],
          exclude: [...notRun, 'test/console/**'],
          provide: { engine: 'sqlite' },
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: onBothEngines,
          exclude: [...notRun, 'test/kernel/storage/sqlite/*.test.ts'],
          provide: { engine: 'postgres' },
        },
      },
      {
        extends: true,
        test: {
          name: 'console',
          include: ['test/console/**/*.test.ts'],
          exclude: notRun,
          globalSetup: 'test/support/setup/console.ts',
          provide: { engine: 'sqlite' },
        },
      },
    ],
  },
})
