/**
 * What waits for several holders, who take turns: however much one has waiting, the others wait for one item of it
 * each time. Items without a holder take turns together.
 *
 * @param maxWaiting Items that may wait, half of them for one holder. The last eighth is for holders that have nothing
 * waiting and for items without a holder, so that a few holders cannot take all places.
 */
export function createTurns<Item>(maxWaiting = Number.POSITIVE_INFINITY) {
  const waiting = new Map<string | undefined, Set<Item>>()
  let count = 0

  function remove(holder: string | undefined, item: Item): void {
    const own = waiting.get(holder)
    if (!own?.delete(item)) return
    count -= 1
    if (own.size === 0) waiting.delete(holder)
  }
  function findNext(isReady: (item: Item) => boolean) {
    for (const [holder, own] of waiting) {
      for (const item of own) if (isReady(item)) return { holder, own, item }
    }
    return undefined
  }
  return {
    count: () => count,
    hasRoom(holder?: string): boolean {
      const own = holder === undefined ? 0 : (waiting.get(holder)?.size ?? 0)
      return 2 * own < maxWaiting && count < (own === 0 ? maxWaiting : (7 / 8) * maxWaiting)
    },
    add(item: Item, holder?: string): void {
      const own = waiting.get(holder) ?? new Set()
      waiting.set(holder, own.add(item))
      count += 1
    },
    remove,
    /** Removes up to that many items that are ready: the oldest of each holder, then the next of each, in turn. */
    take(limit: number, isReady: (item: Item) => boolean = () => true): Item[] {
      const taken: Item[] = []
      while (taken.length < limit) {
        const next = findNext(isReady)
        if (next === undefined) break
        const { holder, own, item } = next
        remove(holder, item)
        taken.push(item)
        // The others come first now.
        if (waiting.delete(holder)) waiting.set(holder, own)
      }
      return taken
    },
  }
}
