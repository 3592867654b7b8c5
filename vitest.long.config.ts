import { globSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import base, { longTests } from './vitest.config.ts'

/** The tests whose bounds of real time are asserted only here. */
const timed = globSync('test/**/*.test.ts', { exclude: ['test/node_modules'] }).filter((file) =>
  readFileSync(file, 'utf8').includes('expectWithin('),
)

const { projects: _, globalSetup = [], ...shared } = base.test ?? {}

export default defineConfig({
  test: {
    ...shared,
    include: [...longTests, ...timed],
    exclude: ['test/node_modules/**'],
    globalSetup: [...globalSetup, 'test/support/setup/console.ts'],
    // Bounds of real time hold on a machine that is not overloaded.
    maxWorkers: 5,
    testTimeout: 900_000,
    hookTimeout: 900_000,
    provide: { engine: 'sqlite', isTimed: true, isDay: false },
  },
})
