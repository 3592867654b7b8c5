/**
 * Gives back what the start of this thread has left behind: V8 keeps that, and the room that it grew
 * for it, until it runs out of room. Takes the thread some 50 ms. A Node that was built without its
 * inspector keeps it.
 */
export async function dropStartGarbage(): Promise<void> {
  const inspector = await import('node:inspector/promises').catch(() => undefined)
  if (inspector === undefined) return
  const session = new inspector.Session()
  session.connect()
  try {
    await session.post('HeapProfiler.collectGarbage')
  } finally {
    session.disconnect()
  }
}
