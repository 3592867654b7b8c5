export interface Doorkeeper {
  /** Whether the id was asked about among the last ones too: between `memory` and twice as many. */
  comesAgain(id: string): boolean
}

/**
 * Keeps out of a cache what is asked for once: it would drive out what is asked for again and again,
 * and age just long enough to be expensive for the garbage collector (the doorkeeper of TinyLFU,
 * Einziger, Friedman and Manes, ACM Transactions on Storage 13, 2017; here of sets, not filters).
 */
export function createDoorkeeper(memory: number): Doorkeeper {
  let recent = new Set<string>()
  let earlier = new Set<string>()
  return {
    comesAgain(id) {
      if (recent.has(id)) return true
      const isKnown = earlier.has(id)
      if (recent.size >= memory) {
        earlier = recent
        recent = new Set()
      }
      recent.add(id)
      return isKnown
    },
  }
}
