import { constants, platform, setPriority } from 'node:os'
import { extname } from 'node:path'

const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority

/**
 * Lowers the priority of this thread, on Linux only: elsewhere this would lower the priority of the
 * whole process.
 */
export function lowerThreadPriority(): void {
  if (platform() === 'linux') lower(PRIORITY_BELOW_NORMAL)
}

/** Lowers the priority of the process; on Linux, of this thread and those it starts later. */
export function lowerProcessPriority(): void {
  lower(PRIORITY_LOW)
}

function lower(priority: number): void {
  try {
    setPriority(priority)
  } catch {
    // A sandbox may forbid it; the result does not depend on it.
  }
}

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

/**
 * URL of a module in the folder of its importer (`import.meta.url`), with the same extension: `.ts`
 * in a checkout, `.js` in the package.
 */
export function siblingModule(importerUrl: string, name: string): URL {
  return new URL(`./${name}${extname(importerUrl)}`, importerUrl)
}
