import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.long.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 900_000,
    hookTimeout: 60_000,
    globalSetup: 'test/support/setup/databases.ts',
    provide: { engine: 'sqlite' },
  },
})
