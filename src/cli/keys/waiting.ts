import { setTimeout as delay } from 'node:timers/promises'
import type { Session } from '../connection/session.ts'
import { lengthOf } from '../terminal/times.ts'

/** Milliseconds between two looks at the clock while a bar is shown. */
const frame = 200

/** Milliseconds of one timer at most. */
const longestTimer = 86_400_000

/**
 * Resolves at the moment (milliseconds, of the server's clock); shows on stderr how long that takes.
 * Rejects when the signal is aborted.
 */
export async function waitUntil(
  session: Session,
  moment: number,
  what: string,
  signal: AbortSignal,
): Promise<void> {
  const total = moment - session.now()
  if (total <= 0) return
  const { stderr, quiet } = session.terminal
  if (stderr.isTTY !== true || quiet) {
    session.say(`${what}: waiting ${lengthOf(total)}, until ${new Date(moment).toISOString()}.`)
    // A timer of more than 2^31 ms would be over at once.
    for (let left = total; left > 0; left = moment - session.now()) {
      await delay(Math.min(left, longestTimer), undefined, { signal })
    }
    return
  }
  const { Presets, SingleBar } = await import('cli-progress')
  const format = `${what} {bar} {left}`
  const bar = new SingleBar(
    { stream: stderr as NodeJS.WriteStream, format, hideCursor: true, clearOnComplete: true },
    Presets.shades_classic,
  )
  const left = () => `${lengthOf(Math.max(0, moment - session.now()))} left`
  bar.start(total, 0, { left: left() })
  try {
    for (let now = session.now(); now < moment; now = session.now()) {
      bar.update(total - (moment - now), { left: left() })
      await delay(Math.min(frame, moment - now), undefined, { signal })
    }
  } finally {
    bar.stop()
  }
}
