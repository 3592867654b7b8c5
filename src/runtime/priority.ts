import { constants, platform, setPriority } from 'node:os'

const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority

/**
 * Lets every other thread of the process go first where both want a processor. Linux alone has a
 * priority of each thread (sched(7)); elsewhere nothing changes, since it would be the process's.
 */
export function lowerThreadPriority(): void {
  if (platform() === 'linux') lower(PRIORITY_BELOW_NORMAL)
}

/** Lets other processes go first; on Linux, for this thread and those that it starts afterwards. */
export function lowerProcessPriority(): void {
  lower(PRIORITY_LOW)
}

function lower(priority: number): void {
  try {
    setPriority(priority)
  } catch {
    // A sandbox may forbid it. The work is right at any priority, so it is done at this one.
  }
}
