/** Returns a place. */
type Release = () => void

/** Why no place is given: all are taken, or the holder has its share. */
export type Refusal = 'full' | 'share_used_up'

export type Places = ReturnType<typeof createPlaces>

export interface PlacesOptions {
  capacity: number
  /** The most places that one holder may take, in percent; 100: as many as there are. */
  share: number
}

/**
 * Places that are held for long, divided so that no holder takes them all. A tenth of them is
 * reserved for holders that have less than one percent, so that a few that use up their shares do
 * not shut out everyone else.
 */
export function createPlaces({ capacity, share }: PlacesOptions) {
  const held = new Map<string, number>()
  const maxHeld = Math.max(1, Math.floor((capacity * share) / 100))
  const maxHeldInReserve = Math.min(maxHeld, Math.max(1, Math.floor(capacity / 100)))
  const reserved = share === 100 ? 0 : Math.floor(capacity / 10)
  let taken = 0

  const heldBy = (holder: string) => held.get(holder) ?? 0
  function release(holders: readonly string[]): void {
    taken -= 1
    for (const holder of holders) {
      const left = heldBy(holder) - 1
      if (left === 0) held.delete(holder)
      else held.set(holder, left)
    }
  }
  return {
    /** Takes a place, which counts for each of the holders. */
    take(holders: readonly string[]): Release | Refusal {
      if (taken >= capacity) return 'full'
      const limit = capacity - taken > reserved ? maxHeld : maxHeldInReserve
      if (holders.some((holder) => heldBy(holder) >= limit)) return 'share_used_up'
      taken += 1
      for (const holder of holders) held.set(holder, heldBy(holder) + 1)
      return () => release(holders)
    },
    /** Places taken. */
    count: () => taken,
  }
}
