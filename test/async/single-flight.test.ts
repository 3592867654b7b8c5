import { expect, test } from 'vitest'
import { createSingleFlight } from '../../packages/server/src/async/single-flight.ts'

test('concurrent calls for one key share one run; the next call starts a new one', async () => {
  const flights = createSingleFlight<number>()
  let runs = 0
  const run = (key: string) => flights.run(key, async () => ++runs)
  expect(await Promise.all([run('a'), run('a'), run('b')])).toEqual([1, 1, 2])
  expect(await run('a')).toBe(3)
})

test('a failed run rejects for all its callers; the next call starts a new one', async () => {
  const flights = createSingleFlight<string>()
  const failing = () => flights.run('a', async () => Promise.reject(new Error('away')))
  const results = await Promise.allSettled([failing(), failing()])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await flights.run('a', async () => 'back')).toBe('back')
})

test('a superseded run is marked, settles for its callers and does not end a newer run', async () => {
  const flights = createSingleFlight<string>()
  const old = Promise.withResolvers<void>()
  const first = flights.run('a', async (flight) => {
    await old.promise
    return flight.isSuperseded ? 'outdated' : 'current'
  })
  flights.supersede('a')
  const recent = Promise.withResolvers<string>()
  const second = flights.run('a', () => recent.promise)
  old.resolve()
  expect(await first).toBe('outdated')
  const third = flights.run('a', async () => 'a third run')
  recent.resolve('shared')
  expect(await Promise.all([second, third])).toEqual(['shared', 'shared'])
})

test('superseding all keys marks every run in progress', async () => {
  const flights = createSingleFlight<boolean>()
  const runs = ['a', 'b'].map((key) =>
    flights.run(key, async (flight) => {
      await Promise.resolve()
      return flight.isSuperseded
    }),
  )
  flights.supersede()
  expect(await Promise.all(runs)).toEqual([true, true])
})
