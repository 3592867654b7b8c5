import { curveCodes } from './codes/curves.ts'
import { derCodes } from './codes/der.ts'
import { rsaCodes } from './codes/rsa.ts'
import type { IntakeProblem, IntakeRule } from './codes/rule.ts'
import { textCodes } from './codes/text.ts'

export type { IntakeProblem, IntakeRule } from './codes/rule.ts'

/**
 * Every reason to refuse a key, by its stable fine code (`errors[0].code` of an answer). The user's
 * page of the key policy is generated from this table.
 */
export const intakeCodes = { ...textCodes, ...derCodes, ...rsaCodes, ...curveCodes } as const

export type IntakeCode = keyof typeof intakeCodes

/** The coarse code of the error answer (`code`) for a fine one. */
export function problemOf(code: IntakeCode): IntakeProblem {
  const rule: IntakeRule = intakeCodes[code]
  return rule.problem
}
