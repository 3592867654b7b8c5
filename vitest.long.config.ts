import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

const { projects: _, ...shared } = base.test ?? {}

export default defineConfig({
  test: {
    ...shared,
    include: ['test/**/*.long.test.ts'],
    // Most of them wait for outages to pass.
    maxWorkers: 4,
    testTimeout: 900_000,
    hookTimeout: 900_000,
    provide: { engine: 'sqlite' },
  },
})
