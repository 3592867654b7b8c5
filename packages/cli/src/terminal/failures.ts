import { SettingError } from '@pubring/server/config/setting'
import { errorTable, PubringError } from '@pubring/server/errors'
import { didYouMean } from '@pubring/server/nearest'
import { FileInUseError, MissingFileError } from '@pubring/server/runtime/files'
import { type ExitKind, exitCodes, kindOfStatus } from './exit-codes.ts'
import { colorsFor, formatDocument, formatMessage, type Terminal, writeError } from './terminal.ts'

interface FailureDetails {
  /** Stable, for programs. */
  code?: string
  /** How to fix it, one line each. */
  hints?: readonly string[]
  /** Members of the server's problem document, for documents. */
  problem?: object
}

/** A failed command. `message` is for the user, without secrets. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly kind: ExitKind
  readonly code: string
  readonly hints: readonly string[]
  readonly problem: object

  constructor(kind: ExitKind, message: string, details: FailureDetails = {}) {
    super(message)
    this.kind = kind
    this.code = details.code ?? kind
    this.hints = details.hints ?? []
    this.problem = details.problem ?? {}
  }
}

/** The error of an invalid call, before anything was done. */
export function usageError(message: string, ...hints: string[]): CommandError {
  return new CommandError('usage', message, { hints })
}

/** The error of a file that is missing, or whose content cannot be used. */
export function fileError(message: string, ...hints: string[]): CommandError {
  return new CommandError('file', message, { hints })
}

/** One of the names. Throws a usage error that says what `subject` may be, and suggests the nearest. */
export function parseChoice<Name extends string>(
  text: string,
  names: readonly Name[],
  subject: string,
  toError = usageError,
): Name {
  const choice = names.find((name) => name === text)
  if (choice !== undefined) return choice
  throw toError(`${subject} must be one of ${names.join(', ')}${didYouMean(text, names)}`)
}

/** Throws for a file with a name that is not known; `message` is how the error starts. */
export function requireKnown(
  names: readonly string[],
  known: readonly string[],
  message: string,
): void {
  const unknown = names.find((name) => !known.includes(name))
  if (unknown === undefined) return
  const suggestion = didYouMean(unknown, known, `; known are ${known.join(', ')}.`)
  throw fileError(`${message}: ${unknown}${suggestion}`)
}

/** Reports the error on stderr, as a document with `--json`. Returns the exit code. */
export function reportFailure(error: unknown, terminal: Terminal): number {
  const failure = failureOf(error)
  const { code: exitCode } = exitCodes[failure.kind]
  // The signal that interrupted the command has set its exit code.
  const code = failure.kind === 'interrupted' ? terminal.exitCode || exitCode : exitCode
  writeError(
    terminal.json ? formatDocument(documentOf(failure, code)) : formatText(failure, terminal),
    terminal.stderr,
  )
  return code
}

function failureOf(error: unknown): CommandError {
  if (error instanceof CommandError) return error
  if (error instanceof SettingError) return usageError(error.message)
  if (error instanceof MissingFileError) return fileError(error.message)
  if (error instanceof FileInUseError) {
    return new CommandError('conflict', error.message, { code: 'database_in_use' })
  }
  if (error instanceof PubringError) {
    const { code, message } = error
    const { status } = errorTable[code]
    // Unlike a server's, this process's own database does not come back by waiting.
    return new CommandError(status < 500 ? kindOfStatus(status) : 'error', message, { code })
  }
  if (error instanceof Error && error.name === 'ExitPromptError') {
    return new CommandError('interrupted', 'Interrupted.')
  }
  return new CommandError('error', error instanceof Error ? error.message : String(error))
}

function formatText({ message, hints }: CommandError, terminal: Terminal): string {
  const colors = colorsFor(terminal, terminal.stderr)
  // The server breaks the line after a command.
  const lines = [`pubring: ${message}`.split('\n'), hints.map((hint) => `hint: ${hint}`)].flat()
  return formatMessage(terminal, lines)
    .replace(/^pubring:/, colors.red)
    .replaceAll(/^hint:/gm, colors.cyan)
}

function documentOf({ code, message, hints, problem }: CommandError, exitCode: number): object {
  return { code, detail: message, ...problem, hints, exitCode }
}
