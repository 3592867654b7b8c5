import { Presets, SingleBar } from 'cli-progress'
import type { Terminal } from './terminal.ts'

interface ProgressBar {
  /** A new label starts a new bar. `remaining` stands at the end if the bar's format has it. */
  show(label: string, done: number, total: number, remaining?: string): void
  /** Writes a line in place of the bar; the next update draws the bar below it. */
  interrupt(write: () => void): void
  /** Removes the bar; may be called twice. */
  stop(): void
}

/** One line of progress on stderr; nothing if that is no terminal, or with `--json`. */
export function createProgressBar(
  { stderr, json }: Terminal,
  ending = '{value}/{total}, {eta_formatted} left',
): ProgressBar {
  if (json) return { show() {}, interrupt: (write) => write(), stop() {} }
  const format = `{label} {bar} ${ending}`
  const bar = new SingleBar(
    { stream: stderr as NodeJS.WriteStream, format, hideCursor: true, clearOnComplete: true },
    Presets.shades_classic,
  )
  let current: string | undefined
  return {
    show(label, done, total, remaining = '') {
      if (label === current) {
        bar.setTotal(total)
        bar.update(done, { remaining })
        return
      }
      bar.stop()
      bar.start(total, done, { label, remaining })
      current = label
    },
    interrupt(write) {
      if (stderr.isTTY === true) stderr.write('\r\u001b[2K')
      write()
    },
    stop: () => bar.stop(),
  }
}
