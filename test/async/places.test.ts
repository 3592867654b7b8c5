import { describe, expect, test } from 'vitest'
import { createPlaces, type Places } from '../../packages/server/src/async/places.ts'

/** How many of `count` places the holder gets, and why it gets no more. */
function takeAll(places: Places, holders: string[], count = Number.POSITIVE_INFINITY) {
  const releases: (() => void)[] = []
  while (releases.length < count) {
    const place = places.take(holders)
    if (typeof place === 'string') return { taken: releases.length, refusal: place, releases }
    releases.push(place)
  }
  return { taken: releases.length, releases }
}

describe('places', () => {
  test('are given to one holder up to its share', () => {
    const places = createPlaces({ capacity: 1_000, share: 25 })
    expect(takeAll(places, ['a'])).toMatchObject({ taken: 250, refusal: 'share_used_up' })
    expect(takeAll(places, ['b'])).toMatchObject({ taken: 250, refusal: 'share_used_up' })
    expect(places.count()).toBe(500)
  })

  test('count for every holder that is named', () => {
    const places = createPlaces({ capacity: 100, share: 20 })
    expect(takeAll(places, ['key 1', 'project'], 15).taken).toBe(15)
    expect(takeAll(places, ['key 2', 'project'])).toMatchObject({ taken: 5 })
    expect(takeAll(places, ['key 2', 'elsewhere'])).toMatchObject({ taken: 15 })
  })

  test('of the last tenth are given to holders of less than one percent', () => {
    const places = createPlaces({ capacity: 1_000, share: 50 })
    expect(takeAll(places, ['a']).taken).toBe(500)
    expect(takeAll(places, ['b'])).toMatchObject({ taken: 400, refusal: 'share_used_up' })
    for (let holder = 0; holder < 10; holder += 1) {
      const { taken } = takeAll(places, [`small ${holder}`])
      expect(taken).toBe(10)
    }
    expect(places.take(['late'])).toBe('full')
  })

  test('that are returned can be taken again', () => {
    const places = createPlaces({ capacity: 10, share: 50 })
    const { taken, releases } = takeAll(places, ['a'])
    expect(taken).toBe(5)
    for (const release of releases) release()
    expect(places.count()).toBe(0)
    expect(takeAll(places, ['a']).taken).toBe(5)
  })

  test('are not divided if the share is everything', () => {
    const places = createPlaces({ capacity: 20, share: 100 })
    expect(takeAll(places, ['a'])).toMatchObject({ taken: 20, refusal: 'full' })
  })

  test.each([
    [0, 0],
    [1, 1],
    [3, 1],
  ])('of %i give one holder %i', (capacity, taken) => {
    expect(takeAll(createPlaces({ capacity, share: 25 }), ['a']).taken).toBe(taken)
  })
})
