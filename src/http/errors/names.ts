import { closest, distance } from 'fastest-levenshtein'

/** Too short to be of use where it is a piece of a secret. */
const plain = /^[\w$.-]{1,23}$/

/**
 * A name that a caller sent, as a sentence may repeat it: only where it looks like a name, so that
 * nothing pasted into the wrong place comes back in an answer.
 */
export function printableName(name: string, otherwise: string): string {
  return plain.test(name) ? `"${name}"` : otherwise
}

/** The valid name that was most likely meant, or undefined where none is near. */
export function nearest(name: string, valid: readonly string[]): string | undefined {
  if (!plain.test(name) || valid.length === 0) return undefined
  const folded = new Map(valid.map((candidate) => [candidate.toLowerCase(), candidate]))
  const found = closest(name.toLowerCase(), [...folded.keys()])
  const tolerance = Math.max(2, Math.floor(found.length / 3))
  return distance(name.toLowerCase(), found) <= tolerance ? folded.get(found) : undefined
}
