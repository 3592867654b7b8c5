import { closest, distance } from 'fastest-levenshtein'

/** The candidate that the word most likely misspells, in any case; undefined if none is close. */
export function nearest<Name extends string>(
  word: string,
  candidates: readonly Name[],
): Name | undefined {
  if (candidates.length === 0) return undefined
  const byFoldedName = new Map(candidates.map((name) => [name.toLowerCase(), name]))
  const match = closest(word.toLowerCase(), [...byFoldedName.keys()])
  const tolerance = Math.max(2, Math.floor(match.length / 3))
  return distance(word.toLowerCase(), match) <= tolerance ? byFoldedName.get(match) : undefined
}

/** The end of a sentence: `; did you mean NAME?`, or `otherwise` if no candidate is close. */
export function didYouMean(word: string, candidates: readonly string[], otherwise = '.'): string {
  const match = nearest(word, candidates)
  return match === undefined ? otherwise : `; did you mean ${match}?`
}
