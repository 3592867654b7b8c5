import type { IntakeCode } from '../codes.ts'
import { commands } from '../commands.ts'
import type { Fault } from '../types.ts'

/** A fault that only a new key removes. */
export function weakness(code: IntakeCode, finding: string): Fault {
  return { code, detail: `${finding} Generate a new key: ${commands.generateRsa}` }
}
