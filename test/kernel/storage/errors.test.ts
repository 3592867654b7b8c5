import { describe, expect, test } from 'vitest'
import {
  classify,
  type StorageFault,
  toReadError,
  toStorageError,
} from '../../../packages/server/src/kernel/storage/errors.ts'

/** Each class of appendix A of the PostgreSQL manual, and each state that differs from its class. */
const states: Record<StorageFault, string> = {
  lost: '08000 08003 08006 08P01 40003 57P01 57P02 57P03 57P04 57P05',
  'read-only': '25006',
  full: '53100',
  conflict: '23505 40000 40001 40P01 72000',
  unavailable: '25P03 25P04 53000 53200 53300 53400 55000 55006 55P03 57000 57014',
  misconfigured: '0L000 0P000 28000 28P01 3D000 3F000 42501 42703 42P01',
  unreadable: '58000 58030 58P01 58P02 F0000 F0001 XX000 XX001 XX002 XXUUU',
  other:
    '00000 01000 02000 03000 09000 0A000 0B000 0F000 0Z000 10608 20000 21000 22000 22003 22021 22P02 22P03 23000 23502 24000 25000 25P02 26000 27000 2B000 2D000 2F000 34000 38000 39000 3B000 42000 42601 42883 44000 54000 HV000 P0000 P0001',
}

const systemErrors: Record<StorageFault, string> = {
  lost: 'ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ETIMEDOUT EHOSTUNREACH EHOSTDOWN ENETUNREACH ENETDOWN ENETRESET ENOTCONN EADDRNOTAVAIL ENOTFOUND EAI_AGAIN EAI_FAIL EPROTO ESHUTDOWN ERR_SOCKET_CLOSED ERR_STREAM_DESTROYED ERR_TLS_CERT_ALTNAME_INVALID ERR_SSL_WRONG_VERSION_NUMBER CERT_HAS_EXPIRED DEPTH_ZERO_SELF_SIGNED_CERT UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'read-only': 'EROFS',
  full: 'ENOSPC EDQUOT EFBIG',
  conflict: '',
  unavailable: 'EMFILE ENFILE ENOMEM EAGAIN EBUSY EINTR',
  misconfigured: 'EACCES EPERM ENOENT ENOTDIR ELOOP',
  unreadable: 'EIO ESTALE ENXIO ENODEV EBADF',
  other: 'ERR_INVALID_ARG_TYPE ERR_INVALID_STATE',
}

/** All primary result codes of SQLite that are errors. */
const resultCodes: Record<StorageFault, readonly number[]> = {
  lost: [],
  'read-only': [8],
  full: [13, 22],
  conflict: [17],
  unavailable: [5, 6, 7, 9, 15],
  misconfigured: [3, 14, 23],
  unreadable: [2, 10, 11, 12, 24, 26],
  other: [1, 4, 16, 18, 19, 20, 21, 25],
}

const failure = (members: object) => Object.assign(new Error('failed'), members)
const withFault = (table: Record<StorageFault, string>) =>
  Object.entries(table).flatMap(([fault, codes]) =>
    codes
      .split(' ')
      .filter((code) => code !== '')
      .map((code) => [code, fault as StorageFault] as const),
  )

describe('each error of a database has one meaning', () => {
  test.each(withFault(states))('the SQLSTATE %s is %s', (code, fault) => {
    expect(classify(failure({ code }))).toBe(fault)
    expect(toReadError(failure({ code }))).toMatchObject({ code: 'storage_unavailable' })
  })

  test.each(withFault(systemErrors))('the system error %s is %s', (code, fault) => {
    expect(classify(failure({ code }))).toBe(fault)
  })

  test.each(
    Object.entries(resultCodes).flatMap(([fault, codes]) => codes.map((code) => [code, fault])),
  )('the result %s of SQLite is %s, with any extension', (code, fault) => {
    for (const errcode of [Number(code), Number(code) + 3 * 256]) {
      const error = failure({ code: 'ERR_SQLITE_ERROR', errcode })
      expect(classify(error)).toBe(fault)
      expect(toReadError(error)).toMatchObject({ code: 'storage_unavailable' })
    }
  })

  test.each([
    ['a socket file that is missing', { code: 'ENOENT', syscall: 'connect' }],
    ['a plan that a migration has made stale', { code: '0A000', routine: 'RevalidateCachedQuery' }],
    ['an error of the driver without a code', { message: 'Connection terminated unexpectedly' }],
  ])('%s is a lost session', (_name, members) => {
    expect(classify(failure(members))).toBe('lost')
  })

  test.each([
    ['a table that SQLite does not find', { errcode: 1, message: 'no such table: jwt_key' }],
    ['a column that SQLite does not find', { errcode: 1, message: 'no such column: note' }],
  ])('%s is a database that is not set up', (_name, members) => {
    expect(classify(failure({ code: 'ERR_SQLITE_ERROR', ...members }))).toBe('misconfigured')
  })
})

test('every fault of the database is 503, and an error that is none stays what it is', () => {
  for (const [code, fault] of [...withFault(states), ...withFault(systemErrors)]) {
    const error = failure({ code })
    if (fault === 'other') expect(toStorageError(error)).toBe(error)
    else expect(toStorageError(error)).toMatchObject({ code: 'storage_unavailable', cause: error })
  }
  const bug = new TypeError('undefined is not a function')
  expect(toReadError(bug)).toBe(bug)
})
