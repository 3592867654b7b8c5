import { globSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

/** The tests whose bounds of real time are asserted only here. */
const timed = globSync('test/**/*.test.ts', { exclude: ['test/node_modules'] }).filter((file) =>
  readFileSync(file, 'utf8').includes('expectWithin('),
)

const { projects: _, ...shared } = base.test ?? {}

export default defineConfig({
  test: {
    ...shared,
    include: ['test/**/*.long.test.ts', ...timed],
    exclude: ['test/node_modules/**'],
    // Most of them wait for outages to pass.
    maxWorkers: 4,
    testTimeout: 900_000,
    hookTimeout: 900_000,
    provide: { engine: 'sqlite', isTimed: true },
  },
})
