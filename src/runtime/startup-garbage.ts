/**
 * Collects the garbage of the startup of this thread, which V8 would keep, with the heap that grew for
 * it, until the heap is full. Takes about 50 ms. Does nothing if Node has no inspector or may not use
 * it (`--permission`).
 */
export async function collectStartupGarbage(): Promise<void> {
  await collect().catch(() => undefined)
}

async function collect(): Promise<void> {
  const { Session } = await import('node:inspector/promises')
  const session = new Session()
  session.connect()
  await session.post('HeapProfiler.collectGarbage')
  session.disconnect()
}
