/**
 * A moment by two clocks: one that is never set, and one that goes on while the machine sleeps.
 * Both in milliseconds.
 */
export type Moment = { monotonic: number; wall: number }

/** This moment, or that so many milliseconds ago. */
export function now(ago = 0): Moment {
  return { monotonic: performance.now() - ago, wall: Date.now() - ago }
}

/** Milliseconds since then by the clock that counts more: what is held is never younger. */
export function since({ monotonic, wall }: Moment): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall)
}

/** The moment so many milliseconds after another one. */
export function later({ monotonic, wall }: Moment, milliseconds: number): Moment {
  return { monotonic: monotonic + milliseconds, wall: wall + milliseconds }
}
