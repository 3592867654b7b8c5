import { type Algorithm, algorithmNames } from '@pubring/intake/algorithms'
import { clientSettings } from '@pubring/server/config/client-settings'
import { settings } from '@pubring/server/config/server-settings'
import type { Setting } from '@pubring/server/config/setting'
import { type Command, type Help, Option } from 'commander'
import type { Session } from '../connection/session.ts'
import { parseChoice } from '../terminal/failures.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Heading of the options that commands share. */
export const commonOptions = 'Common options:'

const jsonOption = new Option('--json', 'Print JSON').helpGroup(commonOptions)

const connectionOptions = [
  optionOf(clientSettings.url, '--url <url>'),
  optionOf(clientSettings.apiKeyFile, '--api-key-file <file>'),
  optionOf(clientSettings.profile, '--profile <name>'),
  optionOf(clientSettings.timeout, '--timeout <time>'),
].map((option) => option.helpGroup(commonOptions))

const projectOption = optionOf(clientSettings.project, '-p, --project <id-or-name>')

/** The options that may also stand in front of the command. */
export const globalOptions: readonly Option[] = [
  jsonOption,
  ...connectionOptions,
  projectOption,
  new Option('-h, --help'),
]

/** The part of a command's help after the options. */
interface HelpText {
  notes?: string
  /** Command lines without a prompt. */
  examples: readonly string[]
}

/** Adds a command with its help, and with `--json`. */
export function addCommand(...command: Parameters<typeof describeCommand>): Command {
  return describeCommand(...command).addOption(jsonOption)
}

function addOptions(command: Command, options: readonly Option[]): Command {
  return options.reduce((added, option) => added.addOption(option), command)
}

/** Adds a command that has no result to print. */
export function describeCommand(
  parent: Command,
  name: string,
  description: string,
  { notes, examples }: HelpText,
): Command {
  const command = parent.command(name).description(description)
  if (notes !== undefined) addHelpNotes(command, (help) => help.boxWrap(notes, help.helpWidth ?? 0))
  const heading = examples.length === 1 ? 'Example:' : 'Examples:'
  const lines = examples.map((line) => `  $ ${line}`)
  return command.addHelpText('after', ['', heading, ...lines].join('\n'))
}

/** Adds text at the end of the help, wrapped like the rest of it. */
export function addHelpNotes(command: Command, write: (help: Help) => string): Command {
  return command.addHelpText('after', () => {
    const help = command.createHelp()
    // Longer lines are hard to read.
    help.prepareContext({
      helpWidth: Math.min(command.configureOutput().getOutHelpWidth?.() ?? 100, 100),
    })
    return `\n${write(help)}`
  })
}

/** Adds a command that only has subcommands. */
export function addGroup(parent: Command, name: string, description: string): Command {
  return parent.command(name).description(description).helpCommand(false)
}

/** Adds a command that calls a server. */
export function addApiCommand(...command: Parameters<typeof addCommand>): Command {
  return addOptions(addCommand(...command), connectionOptions)
}

/** Adds a command that calls a server and works on one project. */
export function addProjectCommand(...command: Parameters<typeof addCommand>): Command {
  return addApiCommand(...command).addOption(projectOption)
}

/** Loads the code of a command when it runs, and passes it the arguments and flags. */
export function lazyAction<Args extends unknown[]>(
  terminal: Terminal,
  load: () => Promise<(terminal: Terminal, ...args: Args) => void | Promise<void>>,
): (...args: Args) => Promise<void> {
  return async (...args) => (await load())(terminal, ...args)
}

/** As `lazyAction`, for a command that calls a server: passes it a session instead of the terminal. */
export function sessionAction<Args extends unknown[]>(
  terminal: Terminal,
  load: () => Promise<(session: Session, ...args: Args) => Promise<void>>,
): (this: Command, ...args: Args) => Promise<void> {
  return async function (...args) {
    const [command, { withSession }] = await Promise.all([load(), loadSession()])
    await withSession(terminal, this.opts(), (session) => command(session, ...args))
  }
}

const loadSession = () => import('../connection/session.ts')

/** The named algorithm. Throws a usage error that suggests the nearest name. */
export function parseAlgorithm(name: string): Algorithm {
  return parseChoice(name, algorithmNames, '--algorithm')
}

/** Takes a name that another project gave up. */
export function releaseNameOption(): Option {
  return new Option(
    '--release-name',
    'Take a name even if another project gave it up in the last 24 hours',
  )
}

export function yesOption(): Option {
  return new Option('-y, --yes', 'Skip the confirmation')
}

/** The database of the commands that open it directly. */
export function databaseOption(): Option {
  return optionOf(settings.databaseUrl)
}

/** The option of a setting, with its default and its variable. */
export function optionOf(
  { flag, env, help, default: preset }: Setting<unknown>,
  usage = `${flag} <value>`,
): Option {
  return new Option(
    usage,
    `${help}${preset === undefined || preset === '' ? '' : ` Default: ${preset.replaceAll(',', ', ')}.`} [${env}]`,
  )
}
