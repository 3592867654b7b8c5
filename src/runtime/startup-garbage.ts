/**
 * Gives back what the start of this thread has left behind: V8 keeps that, and the room that it grew
 * for it, until it runs out of room. Takes the thread some 50 ms. A Node without its inspector, or one
 * that may not use it (`--permission`), keeps the garbage.
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
