/**
 * Collects the garbage that the startup of this thread left, which V8 would otherwise keep until
 * the heap is full. Takes about 50 ms. Does nothing if Node has no inspector or may not use it
 * (`--permission`).
 */
export async function collectStartupGarbage(): Promise<void> {
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
