import { expect, test } from 'vitest'
import { features } from '../packages/server/src/features.ts'
import { loadAppliers } from '../packages/server/src/kernel/feature.ts'

test.each([
  ['name', features.map(({ name }) => name)],
  ['table', features.flatMap(({ tables = [] }) => tables).map(({ name }) => name)],
  ['kind of change', features.flatMap(({ changes }) => changes).map(({ type }) => type)],
  [
    'type of event',
    features.flatMap(({ subjects = [], eventTypes = [] }) => [
      ...subjects.flatMap((subject) => subject.eventTypes),
      ...eventTypes,
    ]),
  ],
])('no two features have a %s in common', (_what, names) => {
  expect(names).toEqual([...new Set(names)])
})

test('an unknown kind of change is an error', async () => {
  const appliers = await loadAppliers(features)
  expect(() => appliers.kind('key.forget')).toThrow('no feature has key.forget')
})
