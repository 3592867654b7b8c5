import { setImmediate as endOfTurn } from 'node:timers/promises'

/** Loads the values of the ids that have one. The query starts after the call. */
export type Load<Value> = (ids: readonly string[]) => Promise<Map<string, Value>>

interface Batch<Value> {
  ids: Set<string>
  result: Promise<Map<string, Value>>
}

/**
 * Gathers concurrent calls into one query. One query runs at a time; calls made meanwhile share the
 * next one, because a query that started before a call could miss a change acknowledged in between.
 * A query starts at the end of a turn of the event loop, once all requests that arrived in it are
 * read, so the store sees one query per round trip. The result can have more ids than requested.
 */
export function createBatchLoader<Value>(load: Load<Value>): Load<Value> {
  let running: Promise<unknown> = Promise.resolve()
  let next: Batch<Value> | undefined

  function openBatch(): Batch<Value> {
    const ids = new Set<string>()
    const result = running.then(endOfTurn).then(() => {
      // Close the batch before its query starts: later calls belong to the next one.
      next = undefined
      return load([...ids])
    })
    running = result.catch(() => undefined)
    return { ids, result }
  }

  return (ids) => {
    next ??= openBatch()
    for (const id of ids) next.ids.add(id)
    return next.result
  }
}
