import { expect, test } from 'vitest'
import { KeySetError } from '../../../packages/client/src/key-set/errors.ts'
import { follow } from '../../../packages/client/src/key-set/follow.ts'

test('an unexpected error is reported, and the key set is followed further', async () => {
  const lifetime = new AbortController()
  const fault = new TypeError('no such member')
  const errors: KeySetError[] = []
  let polls = 0
  const poll = async () => {
    polls += 1
    if (polls === 1) throw fault
    lifetime.abort()
    return undefined
  }
  const handlers = { poll, isWanted: () => true, onMode: () => {} }
  const onError = (error: KeySetError) => void errors.push(error)
  await follow({ ...handlers, maxStaleMs: 3_000, onError }, lifetime.signal)
  expect(errors).toEqual([expect.any(KeySetError)])
  expect(errors[0]).toMatchObject({ code: 'key_set_unavailable', cause: fault })
  expect(errors[0]?.message).toBe('The key set cannot be updated (no such member).')
  expect(polls).toBe(2)
})
