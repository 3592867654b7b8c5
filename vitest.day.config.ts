import { defineConfig } from 'vitest/config'
import long from './vitest.long.config.ts'

/** A day in fifteen minutes, which is part of no other run. */
export default defineConfig({
  test: { ...long.test, include: ['test/faults/day/day.ts'], testTimeout: 3_600_000 },
})
