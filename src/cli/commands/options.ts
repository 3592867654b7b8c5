import { type Command, Option } from 'commander'
import { clientSettings } from '../../config/client-settings.ts'
import { settings } from '../../config/server-settings.ts'
import type { Setting } from '../../config/setting.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Heading of the options that every command that calls a server has. */
export const commonOptions = 'Common options:'

/** A command's entry in the help. */
interface Description {
  name: string
  description: string
  /** Command lines without a prompt. */
  examples: readonly string[]
  /** Paragraphs between the options and the examples. */
  notes?: string
}

/** Adds a command with its examples. */
export function addCommand(parent: Command, { name, examples, notes, ...help }: Description) {
  const command = parent.command(name).description(help.description)
  if (notes !== undefined) {
    command.addHelpText(
      'after',
      () => `\n${command.createHelp().boxWrap(notes, helpWidth(command))}`,
    )
  }
  const heading = examples.length === 1 ? 'Example:' : 'Examples:'
  const lines = examples.map((line) => `  $ ${line}`)
  return command.addHelpText('after', ['', heading, ...lines].join('\n'))
}

/** The width of the terminal, but at most a readable line. */
function helpWidth(command: Command): number {
  return Math.min(command.configureOutput().getOutHelpWidth?.() ?? 100, 100)
}

/** Adds a command that only has subcommands. */
export function addGroup(parent: Command, name: string, description: string): Command {
  return parent.command(name).description(description).helpCommand(false)
}

/** Adds a command that calls a server. */
export function addApiCommand(parent: Command, description: Description): Command {
  const { url, apiKeyFile, profile, timeout } = clientSettings
  return addCommand(parent, description)
    .optionsGroup(commonOptions)
    .addOption(jsonOption())
    .addOption(optionOf(url, '--url <url>'))
    .addOption(optionOf(apiKeyFile, '--api-key-file <file>'))
    .addOption(optionOf(profile, '--profile <name>'))
    .addOption(optionOf(timeout, '--timeout <time>'))
    .optionsGroup('Options:')
}

/** Adds a command that calls a server and works on one project. */
export function addProjectCommand(parent: Command, description: Description): Command {
  const projectOption = optionOf(clientSettings.project, '-p, --project <id-or-name>')
  return addApiCommand(parent, description).addOption(projectOption)
}

/** Loads the code of a command when it runs, and passes it the arguments and flags. */
export function lazyAction<Args extends unknown[]>(
  terminal: Terminal,
  load: () => Promise<(terminal: Terminal, ...args: Args) => void | Promise<void>>,
): (...args: Args) => Promise<void> {
  return async (...args) => (await load())(terminal, ...args)
}

export function jsonOption(): Option {
  return new Option('--json', 'Print one JSON document')
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
  return new Option(usage, `${help}${preset === undefined ? '' : ` Default: ${preset}.`} [${env}]`)
}
