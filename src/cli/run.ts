import { type Command, CommanderError } from 'commander'
import { createProgram } from './program.ts'
import { type CommandError, reportFailure, usageError } from './terminal/failures.ts'
import type { Terminal } from './terminal/terminal.ts'

/** Runs `pubring` with the arguments and reports errors on stderr. Returns the exit code. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  const args = argv[0] === 'help' ? [...argv.slice(1), '--help'] : argv
  terminal.json = wantsJson(args)
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
    // --help and --version.
    if (error.exitCode === 0) return 0
    return reportFailure(usageErrorOf(error, fullName(program, args)), terminal)
  }
}

function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end < 0 ? undefined : end).includes('--json')
}

function usageErrorOf({ code, message: text }: CommanderError, name: string): CommandError {
  // A command that only has subcommands has printed its help.
  if (code === 'commander.help') return usageError(`${name} needs a command.`)
  const message = text
    .replace(/^error: /, '')
    .replace(/\s*\(Did you mean (?:one of )?(.*?)\??\)$/s, '; did you mean $1?')
    .replace(/\s+/g, ' ')
  return usageError(message, `${name} --help shows the usage.`)
}

/** The name of the command in the arguments: `pubring key add`. */
function fullName(program: Command, args: readonly string[]): string {
  let command = program
  let name = program.name()
  for (const arg of args) {
    const next = command.commands.find((subcommand) => subcommand.name() === arg)
    if (next === undefined) break
    command = next
    name = `${name} ${arg}`
  }
  return name
}
