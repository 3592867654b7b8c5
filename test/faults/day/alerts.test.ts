import { expect, test } from 'vitest'
import type { Firing } from '../../support/faults/prometheus.ts'
import { type Episode, findFaultyAlerts } from './alerts.ts'

const outage: Episode = { kind: 'outage', from: 1_000, to: 2_000 }
const death: Episode = { kind: 'long death', from: 5_000, to: 6_000, instance: 'a' }
const firing = (alert: string, from: number, to: number, instance = ''): Firing => ({
  alert,
  instance,
  from,
  to,
})
/** Every alert that must fire for the outage and the death, once. */
const right = [
  firing('PubringStorageUnreadable', 1_500, 2_100, 'a'),
  firing('PubringStorageUnreadable', 1_600, 2_100, 'b'),
  firing('PubringServesStaleKeySets', 1_500, 2_100, 'a'),
  firing('PubringErrors', 2_050, 2_400),
  firing('PubringDown', 5_500, 6_000, 'a'),
]
const faults = (...more: Firing[]) => findFaultyAlerts([...right, ...more], [outage, death], 100)

test('alerts that fire once for their cause are right, also those that a cause need not have', () => {
  expect(faults()).toEqual([])
  expect(faults(firing('PubringStorageUnwritable', 1_900, 2_050, 'a'))).toEqual([])
})

test.each<[string, Firing, RegExp]>([
  ['before any cause', firing('PubringDown', 4_000, 4_500, 'a'), /without a cause/],
  ['long after its cause', firing('PubringErrors', 7_000, 7_100), /without a cause/],
  ['for another replica', firing('PubringDown', 5_500, 6_000, 'b'), /without a cause/],
  ['that nothing explains', firing('PubringSlow', 1_500, 1_600), /without a cause/],
  ['twice for one cause', firing('PubringDown', 6_050, 6_060, 'a'), /fired 2 times/],
])('an alert is wrong that fires %s', (_name, wrong, message) => {
  expect(faults(wrong).join('\n')).toMatch(message)
})

test('an alert is wrong that does not fire', () => {
  const without = right.filter(({ alert }) => alert !== 'PubringDown')
  expect(findFaultyAlerts(without, [outage, death], 100)).toEqual([
    expect.stringMatching(/^PubringDown did not fire/),
  ])
})
