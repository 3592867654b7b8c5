import { closest, distance } from 'fastest-levenshtein'

/** The word that was probably meant: one that differs in a third of its letters at most. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined
  const found = closest(word.toLowerCase(), [...known])
  const most = Math.max(2, Math.floor(word.length / 3))
  return distance(word.toLowerCase(), found.toLowerCase()) <= most ? found : undefined
}

/** The end of a sentence that names it, or nothing. */
export function didYouMean(word: string, known: readonly string[]): string {
  const near = nearest(word, known)
  return near === undefined ? '' : `; did you mean ${near}?`
}
