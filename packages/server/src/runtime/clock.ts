/** The clocks of this process, in milliseconds; see `Clock` of the kernel. */
export const systemClock = { now: Date.now, monotonic: () => performance.now() }
