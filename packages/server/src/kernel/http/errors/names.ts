import { nearest } from '../../../nearest.ts'

/** A name rather than a pasted secret: errors repeat at most 23 characters of it. */
const shortName = /^[\w$.-]{1,23}$/

/** The quoted name if an error may repeat it, otherwise the fallback. */
export function printableName(name: string, fallback: string): string {
  return shortName.test(name) ? `"${name}"` : fallback
}

/** The valid name that a caller most likely meant. */
export function suggestedName(name: string, valid: readonly string[]): string | undefined {
  return shortName.test(name) ? nearest(name, valid) : undefined
}
