import { curveCodes } from './curves.ts'
import { derCodes } from './der.ts'
import { rsaCodes } from './rsa.ts'
import type { IntakeProblem, IntakeRule } from './rule.ts'
import { textCodes } from './text.ts'

export type { IntakeProblem, IntakeRule } from './rule.ts'

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
