import { constants, platform, setPriority } from 'node:os'

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
