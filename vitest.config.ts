import { defineConfig } from 'vitest/config'

/** What a test finds out about a store holds on both engines, so these run once for each. */
const onBothEngines = [
  'test/storage/**/*.test.ts',
  'test/http/**/*.test.ts',
  'test/core/**/!(moduli).test.ts',
  'test/faults/publishing.test.ts',
]

export default defineConfig({
  test: {
    pool: 'forks',
    // Files share a worker and what it has loaded; the application is imported once for each worker.
    isolate: false,
    // Node strips the types itself, as it does in production, and caches what it compiled.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    setupFiles: 'test/support/compile-cache.ts',
    // Most of them wait for something most of the time.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    globalSetup: 'test/support/postgres/setup.ts',
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
          exclude: ['test/**/*.long.test.ts'],
          provide: { engine: 'postgres' },
        },
      },
      {
        extends: true,
        test: {
          name: 'console',
          include: ['test/console/**/*.test.ts'],
          globalSetup: 'test/support/console/setup.ts',
          provide: { engine: 'sqlite' },
        },
      },
    ],
  },
})
