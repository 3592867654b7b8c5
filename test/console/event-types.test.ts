import { expect, test } from 'vitest'
import { typeLabel, typesOfLedger } from '../../console/src/events/types.ts'
import { eventTypes } from '../../packages/server/src/features/events/types.ts'

test('every event type has a label, and is listed for some ledger', () => {
  expect(eventTypes.filter((type) => typeLabel(type) === type)).toEqual([])
  const listed = new Set([...typesOfLedger(true), ...typesOfLedger(false)])
  // An expiry is derived: no ledger has an event of it.
  expect([...listed].toSorted()).toEqual([...eventTypes, 'key.expired'].toSorted())
})
