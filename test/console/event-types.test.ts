import { expect, test } from 'vitest'
import { typeLabel, typesOfHistory } from '../../console/src/events/types.ts'
import { eventTypes } from '../../packages/server/src/features/events/types.ts'

test('every event type has a label, and is offered in the history of all', () => {
  expect(eventTypes.filter((type) => typeLabel(type) === type)).toEqual([])
  // An expiry is derived: no ledger has an event of it.
  expect(typesOfHistory(true).toSorted()).toEqual([...eventTypes, 'key.expired'].toSorted())
})
