/** Of several rounds: the median and the quartiles. */
export interface Spread {
  median: number
  low: number
  high: number
}

/** Between two samples, in proportion; of none, not a number. */
export function spreadOf(samples: readonly number[]): Spread {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (share: number) => {
    const place = (sorted.length - 1) * share
    const [below = Number.NaN, above = below] = sorted.slice(Math.floor(place))
    return below + (above - below) * (place % 1)
  }
  return { median: at(0.5), low: at(0.25), high: at(0.75) }
}

/** In another order at every call. */
export function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item)
}
