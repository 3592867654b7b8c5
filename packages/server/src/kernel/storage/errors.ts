import { PubringError } from '../../errors.ts'
import { isStorageUnavailable, storageUnavailable } from '../faults.ts'

interface Meaning {
  /** The detail of the response; absent for a fault that is not one of the database. */
  detail?: string
  /** The remedy, in words for an operator; docs/alerts.md lists it. */
  advice?: string
  /** SQLSTATEs, and their classes of two characters, of appendix A of the PostgreSQL manual. */
  states: string
  /** Codes of system errors. */
  errno?: string
  /** Primary result codes of SQLite (https://sqlite.org/rescode.html). */
  sqlite?: readonly number[]
}

/**
 * The meaning of every error of a database, the same on both engines. Retries, responses, readiness,
 * metrics and the log derive from it.
 */
const meanings = {
  /** The session is unusable, and the outcome of its last statement is unknown. */
  lost: {
    detail: 'The database cannot be reached. Try again in a few seconds.',
    advice: 'bring PostgreSQL or the network to it back, or promote a standby',
    states: '08 40003 57P01 57P02 57P03 57P04 57P05',
    errno:
      'ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ETIMEDOUT EHOSTUNREACH EHOSTDOWN ENETUNREACH ENETDOWN ENETRESET ENOTCONN EADDRNOTAVAIL ENOTFOUND EAI_AGAIN EAI_FAIL EPROTO',
  },
  /** It responds but accepts no changes. */
  'read-only': {
    detail: 'The database is read-only at the moment. Nothing was changed.',
    advice: 'end the maintenance, promote a standby, or mount the disk writable',
    states: '25006',
    errno: 'EROFS',
    sqlite: [8],
  },
  /** It has no space for changes. */
  full: {
    detail: 'The disk is full. Nothing was changed.',
    advice: 'free space; changes are accepted at once',
    states: '53100',
    errno: 'ENOSPC EDQUOT EFBIG',
    sqlite: [13, 22],
  },
  /** A concurrent change got in the way; a retry succeeds or is rejected for a lasting reason. */
  conflict: {
    detail: 'Too many concurrent changes. Nothing was changed; try again.',
    advice: 'nothing; if it lasts, look for a caller that repeats one change from many places',
    states: '23505 40 72',
    sqlite: [17],
  },
  /** A lock, a timeout or a limit: the same succeeds later. */
  unavailable: {
    detail:
      'The database is busy or locked at the moment. Nothing was changed; try again in a few seconds.',
    advice:
      'end the transaction or program that holds the lock, or raise the limit that the log names: connections, open files, memory',
    states: '25P03 25P04 53 55 57',
    errno: 'EMFILE ENFILE ENOMEM EAGAIN EBUSY EINTR',
    sqlite: [5, 6, 7, 9, 15],
  },
  /** Its user, name, rights or tables are not those that the server needs. */
  misconfigured: {
    detail:
      'The database could not be opened, rejects the server, or lacks a table or column of this release. Nothing was changed.',
    advice: 'correct the path, name, user or rights; `pubring doctor` says which',
    states: '0L 0P 28 3D 3F 42501 42703 42P01',
    errno: 'EACCES EPERM ENOENT ENOTDIR ELOOP',
    sqlite: [3, 14, 23],
  },
  /** It is damaged, or its disk fails. */
  unreadable: {
    detail: 'The database could not be read or written. Nothing was changed.',
    advice: 'look at the disk and `pubring check`; restore a backup, or promote a standby',
    states: '58 F0 XX',
    errno: 'EIO ESTALE ENXIO ENODEV EBADF',
    sqlite: [2, 10, 11, 12, 24, 26],
  },
  /** A statement that cannot succeed, or a rule that rejects the change. */
  other: {
    states:
      '00 01 02 03 09 0A 0B 0F 0Z 10 20 21 22 23 24 25 26 27 2B 2D 2F 34 38 39 3B 42 44 54 HV P0',
    sqlite: [1, 4, 16, 18, 19, 20, 21, 25],
  },
} satisfies Record<string, Meaning>

export type StorageFault = keyof typeof meanings

/** The faults of a database with their remedies, for docs/alerts.md. */
export const storageFaults = Object.entries<Meaning>(meanings).flatMap(
  ([fault, { detail, advice }]) =>
    detail === undefined || advice === undefined ? [] : [{ fault, detail, advice }],
)

const faultOfCode = new Map(
  Object.entries<Meaning>(meanings).flatMap(([fault, { states, errno, sqlite = [] }]) =>
    [...states.split(' '), ...(errno?.split(' ') ?? []), ...sqlite.map(sqliteKey)].map(
      (code) => [code, fault as StorageFault] as const,
    ),
  ),
)

function sqliteKey(result: number): string {
  return `SQLite ${result}`
}

/** A SQLSTATE has a digit or begins with XX; the code of a system error, such as `EPIPE`, has neither. */
export function sqlState(error: unknown): string | undefined {
  const code = codeOf(error)
  return /^((?=.*\d)[0-9A-Z]{5}|XX[0-9A-Z]{3})$/.test(code) ? code : undefined
}

/** The primary result code of an error of SQLite; 0 for another error. */
export function resultCode(error: unknown): number {
  if (!(error instanceof Error) || !('errcode' in error)) return 0
  return typeof error.errcode === 'number' ? error.errcode & 0xff : 0
}

export function classify(error: unknown): StorageFault {
  if (error instanceof PubringError) return isStorageUnavailable(error) ? 'unavailable' : 'other'
  const state = sqlState(error)
  if (state !== undefined) return classifyState(state, error)
  const result = resultCode(error)
  if (result === 0) return classifySystemError(error)
  if (result === 1 && error instanceof Error && /^no such /.test(error.message)) {
    return 'misconfigured'
  }
  return faultOfCode.get(sqliteKey(result)) ?? 'other'
}

function classifyState(state: string, error: unknown): StorageFault {
  if (isStalePlan(error)) return 'lost'
  return faultOfCode.get(state) ?? faultOfCode.get(state.slice(0, 2)) ?? 'other'
}

/**
 * A migration has changed the columns of a prepared statement's result. The server names the routine
 * because the SQLSTATE, `feature_not_supported`, has other causes too; the message is translated. All
 * sessions are replaced, since each may have such a plan.
 */
function isStalePlan(error: unknown): boolean {
  return error instanceof Error && 'routine' in error && error.routine === 'RevalidateCachedQuery'
}

/** Errors of a network carry a code of the system or of TLS; those that `pg` creates have only a message. */
function classifySystemError(error: unknown): StorageFault {
  if (!(error instanceof Error)) return 'other'
  // A Unix socket that is missing is a server that is not running, and no missing file.
  const isConnecting = 'syscall' in error && error.syscall === 'connect'
  const known = isConnecting ? undefined : faultOfCode.get(codeOf(error))
  if (known !== undefined) return known
  const isLost =
    /^(E[A-Z]{3,}|ERR_(TLS|SSL|SOCKET|STREAM)_\w+|[A-Z_]*CERT[A-Z_]*|UNABLE_TO_\w+)$/.test(
      codeOf(error),
    ) ||
    /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout ex|The server does not support SSL)/.test(
      error.message,
    )
  return isLost ? 'lost' : 'other'
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** Whether the database did not respond to a statement in time, so that it may to one that reads less. */
export function isTimeout(error: unknown): boolean {
  return ['57014', 'ETIMEDOUT'].includes(codeOf(error))
}

/** Turns errors of the database into `storage_unavailable`, and leaves others as they are. */
export function toStorageError(error: unknown): unknown {
  if (error instanceof PubringError) return error
  const fault = classify(error)
  return fault === 'other' ? error : faultError(fault, error)
}

/** Turns errors of a read into `storage_unavailable`: whatever the database reports, it could not be read. */
export function toReadError(error: unknown): unknown {
  const isReported = sqlState(error) !== undefined || resultCode(error) !== 0
  if (!isReported || classify(error) !== 'other') return toStorageError(error)
  return faultError('unreadable', error)
}

/** The error of a request that the fault keeps from its response. */
export function faultError(fault: Exclude<StorageFault, 'other'>, cause?: unknown): PubringError {
  return storageUnavailable(meanings[fault].detail, undefined, cause)
}

/** The outcome of a commit could not be determined. */
export function unconfirmedChange(cause?: unknown, retryAfter?: number): PubringError {
  return storageUnavailable(
    'The change was not confirmed. Check whether it was made; if not, repeat it.',
    retryAfter,
    cause,
  )
}

export function queueFull(): PubringError {
  const detail =
    'Too many requests are waiting for the database. Send fewer at once, and try again shortly.'
  return new PubringError('overloaded', detail, { retryAfter: 1 })
}
