import { defineConfig } from 'vitest/config'
import long from './vitest.long.config.ts'

/** A day in fifteen minutes, which is part of no other run, and what else a release must survive. */
export default defineConfig({
  test: {
    ...long.test,
    include: [
      'test/faults/day/{day,keeper-kills,soak}.ts',
      'test/faults/{rolling-restarts.long,storage-away,upgrade}.test.ts',
      'test/engines/postgres-damage.test.ts',
      'test/kernel/storage/errors.test.ts',
    ],
    // One after the other, because the day needs the machine for itself.
    maxWorkers: 1,
    testTimeout: 3_600_000,
    provide: { engine: 'sqlite', isTimed: true, isDay: true },
  },
})
