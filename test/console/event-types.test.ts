import { expect, test } from 'vitest'
import { typeLabel, typesOfHistory } from '../../console/src/events/types.ts'
import { eventTypes } from '../../packages/server/src/features/events/types.ts'

test('every event type has a label in words of its own', () => {
  const labels = typesOfHistory(true).map(typeLabel)
  expect(labels.filter((label) => !/^[A-Z][\w ]+$/.test(label) || label.includes('_'))).toEqual([])
  expect(new Set(labels).size).toBe(labels.length)
  expect(labels).toContain('API key recorded as it is')
  expect(labels.filter((label) => label.includes('…'))).toEqual([])
  // An expiry is derived: no ledger has an event of it.
  expect(labels).toHaveLength(eventTypes.length + 1)
  expect(labels).toContain('Key expired')
})
