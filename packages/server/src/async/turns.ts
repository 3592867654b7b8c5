/**
 * What waits for several holders, who take turns: however much one has waiting, the others wait for one item of it
 * each time. Items without a holder take turns together.
 *
 * @param maxWaiting Items that may wait, half of them for one holder.
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
  return {
    count: () => count,
    hasRoom(holder?: string): boolean {
      const isOwnFull = holder !== undefined && 2 * (waiting.get(holder)?.size ?? 0) >= maxWaiting
      return count < maxWaiting && !isOwnFull
    },
    add(item: Item, holder?: string): void {
      const own = waiting.get(holder) ?? new Set()
      waiting.set(holder, own.add(item))
      count += 1
    },
    remove,
    /** Removes up to that many items: the oldest of each holder, then the next of each, in turn. */
    take(limit: number): Item[] {
      const taken: Item[] = []
      while (taken.length < limit) {
        const [turn] = waiting
        if (turn === undefined) break
        const [holder, own] = turn
        for (const item of own.values().take(1)) {
          remove(holder, item)
          taken.push(item)
        }
        // The others come first now.
        if (waiting.delete(holder)) waiting.set(holder, own)
      }
      return taken
    },
  }
}
