/** Median and quartiles of several rounds. */
export interface Spread {
  median: number
  low: number
  high: number
}

/** Interpolates between samples; NaN for no samples. */
export function spreadOf(samples: readonly number[]): Spread {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (share: number) => {
    const position = (sorted.length - 1) * share
    const [below = Number.NaN, above = below] = sorted.slice(Math.floor(position))
    return below + (above - below) * (position % 1)
  }
  return { median: at(0.5), low: at(0.25), high: at(0.75) }
}

/** In a random order. */
export function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, rank: Math.random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item)
}
