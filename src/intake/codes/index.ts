import { curveCodes } from './curves.ts'
import { derCodes } from './der.ts'
import { rsaCodes } from './rsa.ts'
import { textCodes } from './text.ts'

export type { IntakeRule } from './rule.ts'

/** Every reason to reject a key, by its stable code (`errors[0].code` of the error response). */
export const intakeCodes = { ...textCodes, ...derCodes, ...rsaCodes, ...curveCodes } as const

export type IntakeCode = keyof typeof intakeCodes
