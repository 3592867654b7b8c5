import { findSecret } from '@pubring/intake/secrets'
import { CommanderError } from 'commander'
import { createProgram, globalOptionsLast } from './program.ts'
import { CommandError, reportFailure, usageError } from './terminal/failures.ts'
import type { Terminal } from './terminal/terminal.ts'
import { isToken } from './terminal/text.ts'

/** Runs `pubring` with the arguments and reports errors on stderr. Returns the exit code. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  const end = argv.indexOf('--')
  // Set before the arguments are parsed, so that errors in them are documents, too.
  terminal.json = argv.slice(0, end < 0 ? undefined : end).includes('--json')
  const program = createProgram(terminal)
  if (argv.length === 0) {
    program.outputHelp()
    return 0
  }
  const { name, args } = globalOptionsLast(program, argv)
  try {
    if (argv.some(isPrivateKey)) throw privateKeyArgument
    await program.parseAsync([...args], { from: 'user' })
    return terminal.exitCode
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportFailure(error, terminal)
    // --help and --version.
    if (error.exitCode === 0) return 0
    return reportFailure(usageErrorOf(error, name), terminal)
  }
}

/** Whether an argument is a private key. The claims of a token may have the names of its members. */
function isPrivateKey(argument: string): boolean {
  return !isToken(argument) && findSecret(argument) !== undefined
}

const privateKeyArgument = new CommandError(
  'refused',
  'An argument of this command is a private key. Nothing was sent.',
  {
    code: 'private_key',
    hints: [
      'Other users of this machine can read command lines: if there are any, generate a new pair.',
    ],
  },
)

function usageErrorOf({ code, message: text }: CommanderError, name: string): CommandError {
  // A command that only has subcommands has printed its help.
  if (code === 'commander.help') return usageError(`${name} needs a command.`)
  const message = text
    .replace(/^error: /, '')
    .replace(/\s*\(Did you mean (?:one of )?(.*?)\??\)$/s, '; did you mean $1?')
    .replace(/\s+/g, ' ')
  return usageError(message, `${name} --help shows the usage.`)
}
