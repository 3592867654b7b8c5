import { setTimeout as delay } from 'node:timers/promises'
import type { Session } from '../connection/session.ts'
import { createProgressBar } from '../terminal/progress-bar.ts'
import { formatDuration } from '../terminal/times.ts'

/** Milliseconds between two updates of the progress bar. */
const frameMs = 200

/** A Node timer of more than 2^31 ms fires at once. */
const maxTimerMs = 86_400_000

/**
 * Resolves at `time` (milliseconds, by the server's clock) and shows the remaining time on stderr.
 * Rejects when the signal is aborted.
 */
export async function waitUntil(
  session: Session,
  time: number,
  label: string,
  signal: AbortSignal,
): Promise<void> {
  const total = time - session.now()
  if (total <= 0) return
  const { stderr, json } = session.terminal
  const hasBar = stderr.isTTY === true && !json
  if (!hasBar) {
    session.notify(
      `${label}: waiting ${formatDuration(total)}, until ${new Date(time).toISOString()}.`,
    )
  }
  const bar = createProgressBar(session.terminal, '{remaining}')
  try {
    for (let left = total; left > 0; left = time - session.now()) {
      bar.show(label, total - left, total, `${formatDuration(left)} left`)
      await delay(Math.min(left, hasBar ? frameMs : maxTimerMs), undefined, { signal })
    }
  } finally {
    bar.stop()
  }
}
