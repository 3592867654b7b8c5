/**
 * Admits an entry to a cache on its second request: an entry that is requested only once would
 * evict entries in use and burden the garbage collector (the doorkeeper of TinyLFU: Einziger,
 * Friedman and Manes, ACM Transactions on Storage 13, 2017; with sets instead of Bloom filters).
 */
export function createDoorkeeper(capacity: number) {
  let recent = new Set<string>()
  let earlier = new Set<string>()
  return {
    /** Whether one of the last `capacity` to `2 * capacity` calls had the same id. */
    seenRecently(id: string): boolean {
      if (recent.has(id)) return true
      const isKnown = earlier.has(id)
      if (recent.size >= capacity) {
        earlier = recent
        recent = new Set()
      }
      recent.add(id)
      return isKnown
    },
  }
}
