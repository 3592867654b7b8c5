import { executionAsyncResource } from 'node:async_hooks'

/** Never empty once `keepTick` was called. */
const keptTicks: object[] = []

/**
 * Collects the garbage that the startup of this thread left, which V8 would otherwise keep until
 * the heap is full. Takes about 50 ms. Does nothing if Node has no inspector or may not use it
 * (`--permission`).
 */
export async function collectStartupGarbage(): Promise<void> {
  await keepTick()
  try {
    const { Session } = await import('node:inspector/promises')
    const session = new Session()
    session.connect()
    await session.post('HeapProfiler.collectGarbage')
    session.disconnect()
  } catch {
    // The garbage is collected later.
  }
}

/**
 * Keeps one of the objects that `process.nextTick` makes. If a collection finds none, V8 drops their
 * shape and never optimizes `nextTick` for it again: 0.25 µs for each call, several times per response.
 */
function keepTick(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(() => {
      keptTicks.push(executionAsyncResource())
      resolve()
    })
  })
}
