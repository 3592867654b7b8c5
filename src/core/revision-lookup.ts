import type { Store } from './context.ts'

export interface Lookup<Value> {
  /** The ledger's value, read after the call began; undefined for a ledger that is not known. */
  current(ledgerId: string): Promise<Value | undefined>
}

export type RevisionLookup = Lookup<number>

interface Round<Value> {
  ids: Set<string>
  result: Promise<Map<string, Value>>
}

/**
 * Reads something of ledgers for everybody at once: one query is under way at a time, and whoever
 * comes while it is waits for the next one, since a look that began earlier could miss a change that
 * was acknowledged meanwhile. However many requests arrive, the store sees one query per round trip.
 */
export function createLookup<Value>(
  read: (ledgerIds: readonly string[]) => Promise<Map<string, Value>>,
): Lookup<Value> {
  let running: Promise<unknown> = Promise.resolve()
  let next: Round<Value> | undefined

  function openRound(): Round<Value> {
    const ids = new Set<string>()
    const result = running.then(() => {
      // Closed before its query begins: whoever comes from here on opens the next one.
      next = undefined
      return read([...ids])
    })
    running = result.catch(() => undefined)
    return { ids, result }
  }

  return {
    async current(ledgerId) {
      next ??= openRound()
      next.ids.add(ledgerId)
      return (await next.result).get(ledgerId)
    },
  }
}

export function createRevisionLookup(store: Pick<Store, 'revisions'>): RevisionLookup {
  return createLookup((ids) => store.revisions(ids))
}
