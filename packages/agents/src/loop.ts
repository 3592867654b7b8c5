import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '@pubring/server/runtime/clock'

/** A message is not repeated for this time. */
const repeatAfterMs = 60_000

/** The longest pause, also after failures: each is twice as long as the one before it. */
const maxPauseMs = 60_000

interface LoopOptions {
  signal: AbortSignal
  /**
   * Learns of a failure, and of the time until the action is tried again. Throws to end the loop, which
   * without it ends with the first failure.
   */
  onFailure?(error: unknown, pauseMs: number): void
}

/**
 * Repeats the action until the signal is aborted. It returns after how many milliseconds it is due again,
 * or undefined to end the loop; `wake` ends that pause.
 */
export function startLoop(
  action: () => Promise<number | undefined>,
  { signal, onFailure }: LoopOptions,
): { wake(): void; ended: Promise<void> } {
  let wake = new AbortController()
  const run = async () => {
    let failurePauseMs = 1_000
    while (!signal.aborted) {
      let pauseMs: number | undefined
      try {
        pauseMs = await action()
        failurePauseMs = 1_000
      } catch (error) {
        if (onFailure === undefined) throw error
        pauseMs = failurePauseMs
        failurePauseMs = Math.min(2 * failurePauseMs, maxPauseMs)
        onFailure(error, pauseMs)
      }
      if (pauseMs === undefined) return
      const ends = AbortSignal.any([signal, wake.signal])
      await delay(Math.min(pauseMs, maxPauseMs), undefined, { signal: ends }).catch(() => {})
      if (wake.signal.aborted) wake = new AbortController()
    }
  }
  return { wake: () => wake.abort(), ended: run() }
}

export function withoutRepeats(report: (message: string) => void, clock: Clock) {
  const reportedAt = new Map<string, number>()
  return (message: string): void => {
    const time = clock.monotonic()
    for (const [text, at] of reportedAt) if (time - at > repeatAfterMs) reportedAt.delete(text)
    if (reportedAt.has(message)) return
    reportedAt.set(message, time)
    report(message)
  }
}
