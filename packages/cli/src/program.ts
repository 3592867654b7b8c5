import { readVersion } from '@pubring/server/runtime/version'
import { Command, Help, type Option, type OutputConfiguration } from 'commander'
import { registerAccessRules } from './commands/access-rule.ts'
import { registerApiKeys } from './commands/api-key.ts'
import { registerShell } from './commands/completion.ts'
import { registerFinding } from './commands/finding.ts'
import { registerJwks } from './commands/jwks.ts'
import { registerKeyUses } from './commands/key-uses.ts'
import { registerBulk, registerKeys, registerProjects } from './commands/keys.ts'
import { registerLog } from './commands/log.ts'
import { registerLogin } from './commands/login.ts'
import { addHelpNotes, commonOptions, globalOptions } from './commands/options.ts'
import { registerRegistrationLinks } from './commands/registration-link.ts'
import { registerDatabase, registerServe } from './commands/server.ts'
import { registerTokens } from './commands/token.ts'
import { colorsFor, columnsOf, type Terminal } from './terminal/terminal.ts'

/** All commands. The code of a command is loaded when it runs. */
export function createProgram(terminal: Terminal): Command {
  const { bold } = colorsFor(terminal)
  const program = new Command('pubring')
    .description(
      'A self-hosted registry of JWT public keys: strict intake, live JWKS, revocation within a second.',
    )
    .version(readVersion(), '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Show this help')
    .helpCommand(false)
    .exitOverride()
    .configureHelp({ styleTitle: bold, groupItems: commonOptionsLast })
    .configureOutput(outputTo(terminal))
  program.addHelpText('after', examples)
  addHelpNotes(program, (help) => help.boxWrap(more, help.helpWidth ?? 0))
  program.commandsGroup('Server:')
  registerServe(program, terminal)
  program.commandsGroup('Keys and tokens (call a server):')
  registerProjects(program, terminal)
  registerKeys(program, terminal)
  registerBulk(program, terminal)
  registerJwks(program, terminal)
  registerTokens(program, terminal)
  registerKeyUses(program, terminal)
  registerFinding(program, terminal)
  registerLog(program, terminal)
  program.commandsGroup('Access:')
  registerApiKeys(program, terminal)
  registerAccessRules(program, terminal)
  registerRegistrationLinks(program, terminal)
  registerLogin(program, terminal)
  program.commandsGroup('Database (open it directly, with or without a running server):')
  registerDatabase(program, terminal)
  program.commandsGroup('Shell:')
  registerShell(program, terminal)
  return program
}

/**
 * The arguments with the global options behind the words of the command, where the parser expects
 * them, and its full name: `pubring key add`. The word `help` in front of a command asks for its help.
 */
export function globalOptionsLast(program: Command, args: readonly string[]) {
  let command = program
  const words: string[] = []
  const options: string[] = []
  let index = 0
  for (; index < args.length; index += 1) {
    const arg = args[index] ?? ''
    const [name] = arg.startsWith('--') ? arg.split('=', 1) : [arg.slice(0, 2)]
    const option = globalOptions.find(({ long, short }) => name === long || name === short)
    if (option !== undefined) {
      const hasValue = option.required && (arg === option.long || arg === option.short)
      options.push(...args.slice(index, index + (hasValue ? 2 : 1)))
      index += hasValue ? 1 : 0
      continue
    }
    if (arg === 'help' && command.commands.length > 0) {
      options.push('--help')
      continue
    }
    const next = command.commands.find((subcommand) => subcommand.name() === arg)
    if (next === undefined) break
    command = next
    words.push(arg)
  }
  const rest = args.slice(index)
  // An unknown command is the error to report, rather than an option in front of it.
  const isUnknown = command.commands.length > 0 && rest.length > 0
  return {
    name: [program.name(), ...words].join(' '),
    args: isUnknown ? [...words, ...rest] : [...words, ...options, ...rest],
  }
}

function outputTo(terminal: Terminal): OutputConfiguration {
  const { stdout, stderr, env } = terminal
  return {
    writeOut: (text) => stdout.write(text),
    writeErr(text) {
      if (!terminal.json) stderr.write(text)
    },
    // `run` reports invalid calls like all other errors.
    outputError: () => {},
    getOutHelpWidth: () => columnsOf(stdout, env) ?? 100,
    getErrHelpWidth: () => columnsOf(stderr, env) ?? 100,
    getOutHasColors: () => stdout.isTTY === true,
    getErrHasColors: () => stderr.isTTY === true,
  }
}

/** A command's own options come before the common ones. */
function commonOptionsLast<Item extends Command | Option>(
  all: Item[],
  visible: Item[],
  groupOf: (item: Item) => string,
): Map<string, Item[]> {
  const isCommon = (item: Item) => Number(groupOf(item) === commonOptions)
  const inOrder = all.toSorted((one, other) => isCommon(one) - isCommon(other))
  return new Help().groupItems(inOrder, visible, groupOf)
}

const examples = `
Examples:
  $ pubring serve
  $ export PUBRING_API_KEY=pubring_…
  $ pubring key add key.pem --label "orders service, spring 2026"
  $ pubring key list`

const more =
  'pubring COMMAND --help explains a command. Exit codes, variables and the configuration file: docs/cli.md'
