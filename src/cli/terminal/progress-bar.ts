import { Presets, SingleBar } from 'cli-progress'
import type { Terminal } from './terminal.ts'

export interface ProgressBar {
  show(done: number, total: number): void
  stop(): void
}

/** One line of progress on stderr; nothing where that is no terminal, or nothing is to be said. */
export function createProgressBar({ stderr, quiet }: Terminal, what: string): ProgressBar {
  if (quiet) return { show() {}, stop() {} }
  const format = `${what} {bar} {value}/{total}, {eta_formatted} left`
  const bar = new SingleBar(
    { stream: stderr as NodeJS.WriteStream, format, hideCursor: true, clearOnComplete: true },
    Presets.shades_classic,
  )
  let shown = 0
  return {
    show(done, total) {
      if (total !== shown) bar.start(total, done)
      else bar.update(done)
      shown = total
    },
    stop: () => bar.stop(),
  }
}
