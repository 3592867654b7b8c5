import type { ReadCaller } from './access/callers.ts'
import { hasOrigin, type Origin } from './changes.ts'
import type { Context, Store } from './context.ts'
import type { Hooks } from './hooks.ts'
import { createRevisionWatch } from './ledger/revision-watch.ts'

/** Milliseconds between observations, so that a waiter learns of a change well within a second. */
const watchIntervalMs = 250

/** The context of a process that serves requests, and how its services keep up with the ledgers. */
export type Kernel = ReturnType<typeof createKernel>

export function createKernel(context: Context, readCaller: ReadCaller, hooks: Hooks) {
  const watch = createRevisionWatch(context.store, context.clock, watchIntervalMs)
  const admissions: ((origin: Origin) => void)[] = []
  const commitListeners: ((ledgerId: string) => void)[] = []
  const closeListeners: (() => void)[] = []
  let isClosed = false
  return {
    ...context,
    hooks,
    /**
     * Gives notice of every commit before it resolves, so that the process never serves a copy that is older
     * than a change it acknowledged. A failed commit also gives notice, because it may have taken place.
     */
    store: {
      ...context.store,
      async commit(kind, change) {
        if (hasOrigin(change) && !kind.isUnlimited) {
          for (const admit of admissions) admit(change.origin)
        }
        try {
          return await context.store.commit(kind, change)
        } finally {
          for (const ledgerId of kind.ledgers(change)) {
            for (const listener of commitListeners) listener(ledgerId)
            watch.checkNow(ledgerId)
          }
        }
      },
    } satisfies Store,
    watch,
    readCaller,
    /** Calls it with the origin of each change before the commit, which fails if it throws. */
    beforeCommit: (admit: (origin: Origin) => void) => void admissions.push(admit),
    /** Calls the listener with each ledger that this process changes, before the commit resolves. */
    onCommit: (listener: (ledgerId: string) => void) => void commitListeners.push(listener),
    /** Calls the listener when the process ends, or at once if it does: no request waits any more. */
    onClose(listener: () => void): void {
      if (isClosed) listener()
      else closeListeners.push(listener)
    },
    close(): void {
      isClosed = true
      for (const listener of closeListeners) listener()
      watch.close()
    },
  }
}
