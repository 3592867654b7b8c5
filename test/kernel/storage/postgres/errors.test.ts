import { expect, test } from 'vitest'
import { classify } from '../../../../packages/server/src/kernel/storage/postgres/errors.ts'

const failure = (code: string) => Object.assign(new Error('failed'), { code })

test.each(['EPIPE', 'ECONNRESET', 'ETIMEDOUT', 'ERR_SOCKET_CLOSED', '57P01', '08006'])(
  'an error with the code %s means a lost connection',
  (code) => {
    expect(classify(failure(code))).toBe('lost')
  },
)

test.each([
  ['25006', 'read-only'],
  ['40001', 'conflict'],
  ['53300', 'unavailable'],
  ['XX000', 'other'],
])('the SQLSTATE %s is %s', (code, kind) => {
  expect(classify(failure(code))).toBe(kind)
})
