import { type IntakeCode, intakeCodes } from '@pubring/intake/codes'
import { withTimeout } from '../async/semaphore.ts'
import {
  type ErrorCode,
  errorTable,
  type FieldError,
  joinDetails,
  PubringError,
} from '../errors.ts'

const notFoundDetails = {
  project_not_found:
    'Your API key can see no project with this id or name. GET /v1/projects lists those it can see.',
  person_not_found:
    'There is no person with this id. GET /v1/people lists those who have signed in.',
  session_not_found:
    'You can see no session with this id. GET /v1/sessions lists those you can see.',
  api_key_not_found:
    'Your API key can see no API key with this id. GET /v1/api-keys lists those it can see.',
  rotation_not_found:
    'The project has no rotation with this id. GET …/rotations lists its rotations.',
  reporter_not_found: 'No verifier reports under this name. GET …/key-uses lists those that do.',
  access_rule_not_found: 'There is no access rule with this id. GET /v1/access-rules lists them.',
  link_not_found:
    'There is no such registration link, or it has ended, or another browser opened it. If it was sent to you, ask for a new one. GET …/registration-links lists those of a project.',
  key_not_found: 'The project has no key with this kid. GET …/jwt-keys lists its keys.',
} satisfies Partial<Record<ErrorCode, string>>

export type NotFoundCode = keyof typeof notFoundDetails

export function notFound(code: NotFoundCode): PubringError {
  return new PubringError(code, notFoundDetails[code])
}

/** The members of a body, as they were sent. */
export interface Submitted<Fields> {
  /** The fields that match the schema. */
  fields: Partial<Fields>
  /** Set if some fields do not match: their faults, and the JSON of the whole body. */
  malformed?: { faults: FieldError[]; text: string }
}

/** Runs steps that throw for invalid fields, and adds the faults of all of them to those of the schema. */
export function collectFaults(known: readonly FieldError[] = []) {
  const faults = [...known]
  const collect = (error: unknown) => {
    faults.push(...requestFaults(error))
    return undefined
  }
  return {
    faults,
    /** The result of the step; undefined if it throws. */
    attempt<Value>(step: () => Value): Value | undefined {
      try {
        return step()
      } catch (error) {
        return collect(error)
      }
    },
    /** The same for an asynchronous step. */
    attemptAsync<Value>(step: () => Promise<Value>): Promise<Value | undefined> {
      return step().catch(collect)
    },
    /** Throws one error for all faults, if there are any. */
    throwAny() {
      if (faults.length > 0) throw rejection(faults)
    },
  }
}

/** The faults of an invalid request. Rethrows every other error. */
function requestFaults(error: unknown): FieldError[] {
  if (!(error instanceof PubringError) || errorTable[error.code].status !== 400) throw error
  return faultsOf(error)
}

export function faultsOf({ code, message, extras }: PubringError): FieldError[] {
  return extras.errors ?? [{ pointer: '', code, detail: message }]
}

/** Faults of one key of an import, with pointers into the import. */
export function itemFaults(index: number, faults: readonly FieldError[]): FieldError[] {
  return faults.map((fault) => ({ ...fault, pointer: `/keys/${index}${fault.pointer ?? ''}` }))
}

/**
 * The error for all faults of a request. The first one determines its code: a private key comes
 * first, then the faults of the key, then those of the other fields. The detail has one sentence for
 * each field.
 */
export function rejection(faults: readonly FieldError[]): PubringError {
  const errors = faults.toSorted((a, b) => Number(isPrivateKey(b)) - Number(isPrivateKey(a)))
  const [first] = errors
  if (first === undefined) throw new Error('a rejection without a fault')
  const byField = new Map(
    errors.toReversed().map(({ pointer, parameter, detail }) => [pointer ?? parameter, detail]),
  )
  const detail = isPrivateKey(first) ? first.detail : joinDetails([...byField.values()].reverse())
  const problem = isIntakeCode(first.code) ? intakeCodes[first.code] : 'invalid_request'
  return new PubringError(problem, detail, { errors })
}

function isPrivateKey({ code }: FieldError): boolean {
  return code === 'private_key_submitted'
}

function isIntakeCode(code: string): code is IntakeCode {
  return Object.hasOwn(intakeCodes, code)
}

/** Whether the database was unavailable, and the request itself may be fine. */
export function isStorageUnavailable(error: unknown): error is PubringError {
  return error instanceof PubringError && error.code === 'storage_unavailable'
}

/** `retryAfter`: seconds. The cause is for the log. */
export function storageUnavailable(detail: string, retryAfter = 5, cause?: unknown): PubringError {
  return new PubringError('storage_unavailable', detail, { retryAfter }, cause)
}

/** Rejects with `storage_unavailable` after the timeout. */
export function withStorageTimeout<Result>(
  operation: Promise<Result>,
  timeoutMs: number,
): Promise<Result> {
  return withTimeout(operation, timeoutMs, () =>
    storageUnavailable('The database did not respond in time. Try again in a few seconds.'),
  )
}

/**
 * The error for a project whose row contradicts its ledger. As while the database is unavailable, the
 * last good documents are served for a limited time.
 */
export function contradictedProject(): PubringError {
  return storageUnavailable(
    'The stored project contradicts its ledger, so it is not served. Ask the operator to run pubring check.',
    60,
  )
}
