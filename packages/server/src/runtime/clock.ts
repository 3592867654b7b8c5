/** The clocks of this process, in milliseconds; see `Clock` of the core. */
export const systemClock = { now: Date.now, monotonic: () => performance.now() }
