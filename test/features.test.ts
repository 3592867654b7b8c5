import { expect, test } from 'vitest'
import { features } from '../packages/server/src/features.ts'
import { loadAppliers, loadCensus } from '../packages/server/src/kernel/feature.ts'
import { openTestStore } from './support/store/store.ts'

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

test('the census is empty without a feature that takes it', async () => {
  const { store } = await openTestStore()
  const takeCensus = await loadCensus(features.filter(({ census }) => census === undefined))
  const census = await takeCensus(store.reader, '2026-01-02T03:04:05.678Z')
  expect(census).toEqual({ keys: [], warnings: [], warnedProjects: [] })
})
