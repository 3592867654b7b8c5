import { defineConfig } from 'vitest/config'
import { patience } from './test/support/waiting.ts'

/** Files that depend on the store, run on both engines. */
const onBothEngines = [
  'test/storage/**/*.test.ts',
  'test/http/**/*.test.ts',
  'test/core/**/!(moduli|redaction).test.ts',
  'test/faults/publishing.test.ts',
]

/** Files of the above whose results do not depend on the store. */
const onSqliteOnly = [
  'test/core/{access,trust}/*.test.ts',
  'test/core/log/witnesses.test.ts',
  'test/core/{labels,validity}.test.ts',
  'test/http/access/{api-key-header,budgets,order-of-checks,rate-limits,shares}.test.ts',
  'test/http/caching/vary.test.ts',
  'test/http/keys/{corpus,every-fault}.test.ts',
  'test/http/request/{addresses,bodies,long-headers,prefer,queries}.test.ts',
  'test/http/routes/token-checks-*.test.ts',
  'test/http/server/!(database-log|errors|metrics).test.ts',
  'test/http/sign-in/provider-messages.test.ts',
  'test/http/trust/refusals.test.ts',
  'test/storage/sqlite/*.test.ts',
]

export default defineConfig({
  test: {
    pool: 'forks',
    // Files share a worker and the modules that it has loaded.
    isolate: false,
    // Node strips the types, as it does in production.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    setupFiles: 'test/support/setup/worker.ts',
    // Two cores: tests wait for a third of their time, for processes, outages and time limits.
    maxWorkers: 5,
    // Limits that are only limits: a machine may be slow, or busy with something else.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: patience } },
    globalSetup: 'test/support/setup/databases.ts',
    projects: [
      {
        extends: true,
        test: {
          name: 'sqlite',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.long.test.ts', 'test/console/**'],
          provide: { engine: 'sqlite' },
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: onBothEngines,
          exclude: ['test/**/*.long.test.ts', ...onSqliteOnly],
          provide: { engine: 'postgres' },
        },
      },
      {
        extends: true,
        test: {
          name: 'console',
          include: ['test/console/**/!(*.long).test.ts'],
          globalSetup: 'test/support/setup/console.ts',
          provide: { engine: 'sqlite' },
        },
      },
    ],
  },
})
