import { type Command, CommanderError } from 'commander'
import { createProgram } from './program.ts'
import { type CommandError, reportFailure, usageError } from './terminal/failures.ts'
import type { Terminal } from './terminal/terminal.ts'

/** Runs `pubring` with the arguments; answers the exit code. What goes wrong is said on stderr. */
export async function run(given: readonly string[], terminal: Terminal): Promise<number> {
  const args = given[0] === 'help' ? [...given.slice(1), '--help'] : given
  terminal.quiet = wantsJson(args)
  const program = createProgram(terminal)
  if (args.length === 0) {
    program.outputHelp()
    return 0
  }
  try {
    await program.parseAsync([...args], { from: 'user' })
    return terminal.exitCode
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportFailure(error, terminal)
    // The help that was asked for, or the version, is no failure.
    if (error.exitCode === 0) return 0
    if (error.code === 'commander.help') return reportMissingCommand(program, args, terminal)
    return reportFailure(wrongCall(program, args, error), terminal)
  }
}

function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end < 0 ? undefined : end).includes('--json')
}

/** The help of a command that only has others below it was shown in place of doing anything. */
function reportMissingCommand(program: Command, args: readonly string[], terminal: Terminal) {
  const { name } = deepest(program, args)
  return reportFailure(usageError(`${name} needs a command.`), terminal)
}

function wrongCall(program: Command, args: readonly string[], error: CommanderError): CommandError {
  const { name } = deepest(program, args)
  const message = error.message
    .replace(/^error: /, '')
    .replace(/\s*\(Did you mean (?:one of )?(.*?)\??\)$/s, '; did you mean $1?')
    .replace(/\s+/g, ' ')
  return usageError(message, `${name} --help shows how it is called.`)
}

/** The command that the arguments lead to, by its full name. */
function deepest(program: Command, args: readonly string[]): { name: string } {
  let command = program
  let name = program.name()
  for (const arg of args) {
    const next = command.commands.find((one) => one.name() === arg)
    if (next === undefined) break
    command = next
    name = `${name} ${arg}`
  }
  return { name }
}
