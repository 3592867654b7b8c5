import type { IntakeCode } from './codes/index.ts'
import type { Fault } from './types.ts'

/** A fault; the detail holds numbers and names only, never a part of the submitted text. */
export function fault(code: IntakeCode, detail: string): Fault {
  return { code, detail }
}
