import process from 'node:process'
import type { Readable, Writable } from 'node:stream'
import type { Environment } from '@pubring/server/config/setting'
import { redact } from '@pubring/server/kernel/exposure/redaction'
import { lowerProcessPriority } from '@pubring/server/runtime/threads'
import picocolors from 'picocolors'
import { textWidth, wrapWords } from './text.ts'

type Stream<Kind> = Kind & { isTTY?: boolean; columns?: number }

/** The streams and state of a command: results go to stdout, all other messages to stderr. */
export interface Terminal {
  env: Environment
  readonly stdin: Stream<Readable>
  stdout: Stream<Writable>
  stderr: Stream<Writable>
  /** The exit code of a command that ends without an error: 0, unless the command sets another. */
  exitCode: number
  /** `--json`: stdout gets a document, and stderr nothing but an error, as a document. */
  json: boolean
  /** Aborted by Ctrl-C and SIGTERM, which no longer end the process after the first call. */
  interruptSignal(): AbortSignal
  /** Aborts the requests of a command that is interrupted: the server may never answer. */
  requestsEnd?: AbortSignal
  /** Lowers the priority of the process, for a command that others shall not wait for. */
  lowerPriority(): void
}

const signalExitCodes = { SIGINT: 130, SIGTERM: 143 } as const

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
    lowerPriority: lowerProcessPriority,
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

/** The width of a table on stdout; undefined if tab-separated values are due. */
export function tableWidth({ stdout, env }: Terminal): number | undefined {
  return columnsOf(stdout, env)
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

/** Writes to stderr without secrets, which a quoted command line may contain. */
export function writeError(
  text: string,
  stderr: { write(text: string): unknown } = process.stderr,
): void {
  stderr.write(redact(text))
}

/** Writes a message to stderr, unless `--json` silences it. */
export function notify(terminal: Terminal, text: string): void {
  if (!terminal.json) terminal.stderr.write(formatMessage(terminal, text.split('\n')))
}

/** Lines for stderr. A terminal breaks none within a word, and a command at the end of one not at all. */
export function formatMessage({ stderr, env }: Terminal, lines: readonly string[]): string {
  const width = columnsOf(stderr, env) ?? Number.POSITIVE_INFINITY
  const fitted = lines.map(escapeControls).map((line) => {
    if (textWidth(line) <= width) return line
    const [, words = line, command] = commandAtEnd.exec(line) ?? []
    return [wrapWords(words, width, '  '), ...(command === undefined ? [] : [command])].join('\n  ')
  })
  return fitted.map((line) => `${line}\n`).join('')
}

const commandAtEnd =
  /^(.*?:) ((?:pubring|openssl|ssh-keygen|cp|mv|chmod|node|perl|sed|grep|base64|\().*)$/

const controls = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/** Shows characters that move the cursor or change the text direction as their code points. */
export function escapeControls(text: string): string {
  return text.replace(
    controls,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )
}

/** Resolves once all of the text is written to stdout; rejects if it cannot be. */
export function writeAll({ stdout }: Terminal, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })
}

/** Writes the result to stdout: the document with `--json`, else the text. */
export function printResult(terminal: Terminal, document: unknown, text = () => ''): void {
  terminal.stdout.write(terminal.json ? formatDocument(document) : text())
}

export function formatDocument(document: unknown): string {
  return `${JSON.stringify(document, null, 2)}\n`
}

/** Quotes the word for a POSIX shell, if it needs quotes. */
export function quoteForShell(word: string): string {
  return /^[\w./@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** `--token-lifetime`, for `tokenLifetime`. */
export function toFlag(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
