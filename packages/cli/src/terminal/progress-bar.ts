import { Presets, SingleBar } from 'cli-progress'
import type { Terminal } from './terminal.ts'

/** One line of progress on stderr; nothing if that is no terminal, or with `--json`. */
export function createProgressBar({ stderr, json }: Terminal) {
  const format = '{label} {bar} {value}/{total}, {eta_formatted} left'
  const bar = new SingleBar(
    { stream: stderr as NodeJS.WriteStream, format, hideCursor: true, clearOnComplete: true },
    Presets.shades_classic,
  )
  let current: string | undefined
  return {
    /** A new label starts a new bar. */
    show(label: string, done: number, total: number): void {
      if (json) return
      if (label === current) {
        bar.setTotal(total)
        bar.update(done)
        return
      }
      bar.stop()
      bar.start(total, done, { label })
      current = label
    },
    /** Writes a line in place of the bar; the next update draws the bar below it. */
    interrupt(write: () => void): void {
      if (!json && stderr.isTTY === true) stderr.write('\r\u001b[2K')
      write()
    },
    /** Removes the bar; may be called twice. */
    stop: () => bar.stop(),
  }
}
