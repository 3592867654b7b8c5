import process from 'node:process'
import type { Readable, Writable } from 'node:stream'
import picocolors from 'picocolors'
import type { Environment } from '../../config/setting.ts'

type Stream<Kind> = Kind & { isTTY?: boolean; columns?: number }

/** What a command reads and writes: results on stdout, everything that is said besides on stderr. */
export interface Terminal {
  env: Environment
  readonly stdin: Stream<Readable>
  stdout: Stream<Writable>
  stderr: Stream<Writable>
  /** The exit code of a command that ends without an error; 0 unless it sets another. */
  exitCode: number
  /** With `--json`: nothing is said on stderr but what went wrong, which is a document then. */
  quiet: boolean
  /** From the first call on Ctrl-C and SIGTERM end no process: they abort this signal. */
  interruptSignal(): AbortSignal
}

/** What a shell answers for a process that the signal ended. */
const signalCodes = { SIGINT: 130, SIGTERM: 143 } as const

/** The terminal of this process. */
export function processTerminal(): Terminal {
  let controller: AbortController | undefined
  const terminal: Terminal = {
    env: process.env,
    // Looking at it opens it, so not before somebody wants to read.
    get stdin() {
      return process.stdin
    },
    stdout: process.stdout,
    stderr: process.stderr,
    exitCode: 0,
    quiet: false,
    interruptSignal() {
      controller ??= abortedBySignals((code) => {
        terminal.exitCode = code
      })
      return controller.signal
    },
  }
  return terminal
}

/** The first signal aborts; a second one ends the process. */
function abortedBySignals(told: (code: number) => void): AbortController {
  const controller = new AbortController()
  for (const [name, code] of Object.entries(signalCodes)) {
    process.once(name, () => {
      told(code)
      controller.abort()
    })
  }
  return controller
}

/** Colours where the stream is a terminal that shows them and NO_COLOR is not set (no-color.org). */
export function colorsFor(stream: { isTTY?: boolean }, env: Environment) {
  const wanted = stream.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb'
  return picocolors.createColors(wanted)
}

/** Columns of the terminal; undefined where the stream is none. */
export function columnsOf({ isTTY, columns }: { isTTY?: boolean; columns?: number }) {
  return isTTY === true ? (columns ?? 80) : undefined
}

/** Whether a person can be asked: there must be someone to read the question, and to answer. */
export function isInteractive({ stdin, stderr }: Terminal): boolean {
  return stdin.isTTY === true && stderr.isTTY === true
}
