import {
  type ErrorCode,
  errorTable,
  type FieldError,
  joinDetails,
  PubringError,
} from '../errors.ts'
import { type IntakeCode, intakeCodes } from '../intake/codes.ts'

/** The members of a body, as they were sent. */
export interface Submitted<Fields> {
  /** Those that match the schema. */
  fields: Partial<Fields>
  /** If not all do: the faults of the others, and the JSON of all. */
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

/**
 * The error for all faults of a request. The first one determines its code: a private key comes
 * first, then the faults of the key, then those of the other fields. The detail has one sentence for
 * each field.
 */
export function rejection(faults: readonly FieldError[]): PubringError {
  const errors = faults.toSorted((a, b) => Number(isPrivateKey(b)) - Number(isPrivateKey(a)))
  const [first] = errors
  if (first === undefined) throw new Error('a rejection without a fault')
  const byField = new Map(errors.toReversed().map(({ pointer, detail }) => [pointer, detail]))
  const detail = isPrivateKey(first) ? first.detail : joinDetails([...byField.values()].reverse())
  return new PubringError(problemOf(first), detail, { errors })
}

function isPrivateKey({ code }: FieldError): boolean {
  return code === 'private_key_submitted'
}

function problemOf({ code }: FieldError): ErrorCode {
  return isIntakeCode(code) ? intakeCodes[code] : 'invalid_request'
}

function isIntakeCode(code: string): code is IntakeCode {
  return Object.hasOwn(intakeCodes, code)
}
