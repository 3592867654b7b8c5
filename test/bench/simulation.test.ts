import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { seededRandom, simulate } from '../../bench/revocation/simulation.ts'
import { renderSimulation } from '../../bench/simulate.ts'

const near = { name: 'near', maxAge: 0, toPrimary: 0 }

test('the same seed gives the table of bench/results/README.md', () => {
  const page = readFileSync(new URL('../../bench/results/README.md', import.meta.url), 'utf8')
  expect(renderSimulation(page, 1, 100_000)).toBe(page)
})

test('a verifier refuses a key at the latest when its copy and that of the cache are old', () => {
  const random = seededRandom(2)
  const plain = simulate({ name: 'plain', keeps: 300 }, near, 20_000, random)
  expect(plain.median).toBeCloseTo(150, -1)
  expect(plain.slowest).toBeLessThanOrEqual(300.5)
  const cached = simulate({ name: 'plain', keeps: 300 }, { ...near, maxAge: 60 }, 20_000, random)
  expect(cached.slowest).toBeGreaterThan(340)
  expect(cached.slowest).toBeLessThanOrEqual(360.5)
  const live = simulate({ name: 'live' }, near, 20_000, random)
  expect(live.slowest).toBeLessThanOrEqual(0.25)
  const follower = simulate({ name: 'follower', readsFile: 1 }, near, 20_000, random)
  expect(follower.slowest).toBeGreaterThan(1)
  expect(follower.slowest).toBeLessThanOrEqual(1.25)
})
