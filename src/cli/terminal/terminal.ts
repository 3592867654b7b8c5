import process from 'node:process'
import type { Readable, Writable } from 'node:stream'
import picocolors from 'picocolors'
import type { Environment } from '../../config/setting.ts'

type Stream<Kind> = Kind & { isTTY?: boolean; columns?: number }

export const outputFormats = ['json', 'yaml', 'table', 'wide'] as const
type OutputFormat = (typeof outputFormats)[number]

/** What a command reads and writes: results go to stdout, all other messages to stderr. */
export interface Terminal {
  env: Environment
  readonly stdin: Stream<Readable>
  stdout: Stream<Writable>
  stderr: Stream<Writable>
  /** The exit code of a command that ends without an error: 0, unless the command sets another. */
  exitCode: number
  /** `-o json` or `-o yaml`: stdout gets a document, and stderr nothing but an error, as a document. */
  json: boolean
  /** `-o`; by default a table on a terminal, and tab-separated values in a pipe. */
  format?: OutputFormat
  /** Of a document; JSON unless it is set. */
  stringify?(document: unknown): string
  /** Aborted by Ctrl-C and SIGTERM, which no longer end the process after the first call. */
  interruptSignal(): AbortSignal
}

/** The exit codes that a shell reports for a process ended by the signal. */
const signalExitCodes = { SIGINT: 130, SIGTERM: 143 } as const

/** The terminal of this process. */
export function processTerminal(): Terminal {
  let controller: AbortController | undefined
  const terminal: Terminal = {
    env: process.env,
    // Reading the property opens the stream: only do so for a command that reads.
    get stdin() {
      return process.stdin
    },
    stdout: process.stdout,
    stderr: process.stderr,
    exitCode: 0,
    json: false,
    interruptSignal() {
      controller ??= abortOnSignal(terminal)
      return controller.signal
    },
  }
  return terminal
}

/** The first signal sets the exit code and aborts; a second one ends the process. */
function abortOnSignal(terminal: Terminal): AbortController {
  const controller = new AbortController()
  for (const [name, code] of Object.entries(signalExitCodes)) {
    process.once(name, () => {
      terminal.exitCode = code
      controller.abort()
    })
  }
  return controller
}

/** Colors if the stream is a terminal that shows them and NO_COLOR is not set (no-color.org). */
export function colorsFor({ stdout, env }: Terminal, stream: { isTTY?: boolean } = stdout) {
  const isColored = stream.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb'
  return picocolors.createColors(isColored)
}

/** The width of a table on stdout, without end for `-o wide`; undefined if tab-separated values are due. */
export function tableWidth({ stdout, format, env }: Terminal): number | undefined {
  if (format === 'wide') return Number.POSITIVE_INFINITY
  return columnsOf(stdout, env) ?? (format === 'table' ? 80 : undefined)
}

/** The width of the terminal, which may not know it or say 0; undefined if the stream is not a terminal. */
export function columnsOf(
  { isTTY, columns }: { isTTY?: boolean; columns?: number },
  env: Environment,
): number | undefined {
  return isTTY === true ? columns || Number(env.COLUMNS) || 80 : undefined
}

/** Whether a person can read a question and answer it. */
export function isInteractive({ stdin, stderr }: Terminal): boolean {
  return stdin.isTTY === true && stderr.isTTY === true
}
