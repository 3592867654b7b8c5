import { setImmediate as endOfTurn } from 'node:timers/promises'

/** Reads the values of the ids that have one, no earlier than it is called. */
export type Lookup<Value> = (ids: readonly string[]) => Promise<Map<string, Value>>

interface Round<Value> {
  ids: Set<string>
  result: Promise<Map<string, Value>>
}

/**
 * The same for everybody at once: one query is under way at a time, and whoever comes while it is
 * waits for the next one, since a look that began earlier could miss a change that was acknowledged
 * meanwhile. A query begins when all that has arrived in the turn of the event loop is read. However
 * many requests arrive, the store sees one query per round trip. Answers may hold more than was asked
 * for.
 */
export function createLookup<Value>(read: Lookup<Value>): Lookup<Value> {
  let running: Promise<unknown> = Promise.resolve()
  let next: Round<Value> | undefined

  function openRound(): Round<Value> {
    const ids = new Set<string>()
    const result = running.then(endOfTurn).then(() => {
      // Closed before its query begins: whoever comes from here on opens the next one.
      next = undefined
      return read([...ids])
    })
    running = result.catch(() => undefined)
    return { ids, result }
  }

  return (ids) => {
    next ??= openRound()
    for (const id of ids) next.ids.add(id)
    return next.result
  }
}
