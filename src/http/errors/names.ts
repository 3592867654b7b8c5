import { nearest } from '../../nearest.ts'

/** Too short to be of use where it is a piece of a secret. */
const plain = /^[\w$.-]{1,23}$/

/**
 * A name that a caller sent, as a sentence may repeat it: only where it looks like a name, so that
 * nothing pasted into the wrong place comes back in an answer.
 */
export function printableName(name: string, otherwise: string): string {
  return plain.test(name) ? `"${name}"` : otherwise
}

/** The valid name that a caller most likely meant; nothing that might be a secret is compared. */
export function suggestedName(name: string, valid: readonly string[]): string | undefined {
  return plain.test(name) ? nearest(name, valid) : undefined
}
