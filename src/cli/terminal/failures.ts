import { SettingError } from '../../config/setting.ts'
import { errorTable, PubringError } from '../../errors.ts'
import { type ExitKind, exitCodes, kindOfStatus } from './exit-codes.ts'
import { escapeControls, writeError } from './output.ts'
import { colorsFor, type Terminal } from './terminal.ts'

/** What a failure says beyond its sentence. */
export interface FailureDetails {
  /** Stable, for programs. */
  code?: string
  /** What to do about it, one line each. */
  hints?: readonly string[]
  /** Members of the server's problem document, for `--json`. */
  problem?: object
}

/** A command that failed: `message` is for a person, in one line, without a secret. */
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

/** The call is wrong, and nothing was done. */
export function usageError(message: string, ...hints: string[]): CommandError {
  return new CommandError('usage', message, { hints })
}

/** Says on stderr what went wrong, as JSON where that was asked for; answers the exit code. */
export function reportFailure(error: unknown, terminal: Terminal): number {
  const failure = failureOf(error)
  const { code: exitCode } = exitCodes[failure.kind]
  // A signal that has ended the command says with which code.
  const code = failure.kind === 'interrupted' ? terminal.exitCode || exitCode : exitCode
  writeError(terminal.quiet ? asJson(failure, code) : asText(failure, terminal), terminal.stderr)
  return code
}

function failureOf(error: unknown): CommandError {
  if (error instanceof CommandError) return error
  if (error instanceof SettingError) return new CommandError('usage', error.message)
  if (error instanceof PubringError) {
    const { code, message } = error
    const { status } = errorTable[code]
    // A database that this process has open itself is not away for now, as a server's may be.
    return new CommandError(status < 500 ? kindOfStatus(status) : 'failed', message, { code })
  }
  if (error instanceof Error && error.name === 'ExitPromptError') {
    return new CommandError('interrupted', 'Interrupted.')
  }
  return new CommandError('failed', error instanceof Error ? error.message : String(error))
}

function asText({ message, hints }: CommandError, { stderr, env }: Terminal): string {
  const colours = colorsFor(stderr, env)
  const lines = [`${colours.red('pubring:')} ${escapeControls(message)}`]
  for (const hint of hints) lines.push(`${colours.cyan('hint:')} ${escapeControls(hint)}`)
  return `${lines.join('\n')}\n`
}

function asJson({ code, message, hints, problem }: CommandError, exitCode: number): string {
  const document = { code, detail: message, ...problem, hints, exitCode }
  return `${JSON.stringify(document, null, 2)}\n`
}
