import { type Command, Option } from 'commander'
import { clientSettings } from '../../config/client-settings.ts'
import { settings } from '../../config/server-settings.ts'
import type { Setting } from '../../config/setting.ts'

/** Heading of the options that every command has that calls a server. */
export const commonOptions = 'Common options:'

/** What a command says of itself. */
export interface Description {
  /** As commander takes it: `add <file>`. */
  usage: string
  description: string
  /** Lines as typed, without the prompt. */
  examples: readonly string[]
  /** What `--help` says besides. */
  notes?: string
}

/** A command with its examples. */
export function addCommand(parent: Command, description: Description): Command {
  const { usage, examples, notes } = description
  const command = parent.command(usage).description(description.description)
  if (notes !== undefined) {
    command.addHelpText(
      'after',
      () => `\n${command.createHelp().boxWrap(notes, widthOfHelp(command))}`,
    )
  }
  const heading = examples.length === 1 ? 'Example:' : 'Examples:'
  const lines = examples.map((line) => `  $ ${line}`)
  return command.addHelpText('after', ['', heading, ...lines].join('\n'))
}

/** Columns that a line of help may have; lines of text are not longer than a person reads well. */
function widthOfHelp(command: Command): number {
  return Math.min(command.configureOutput().getOutHelpWidth?.() ?? 100, 100)
}

/** A command that only has others below it. */
export function addGroup(parent: Command, name: string, description: string): Command {
  return parent.command(name).description(description).helpCommand(false)
}

/** A command that calls a server; with `project` it is about one project. */
export function addApiCommand(
  parent: Command,
  description: Description & { project?: boolean },
): Command {
  const command = addCommand(parent, description)
  command.optionsGroup(commonOptions)
  const { url, apiKeyFile, profile, project, timeout } = clientSettings
  if (description.project === true) {
    command.addOption(optionOf(project, '-p, --project <id-or-name>'))
  }
  command.addOption(jsonOption())
  command.addOption(optionOf(url, '--url <url>'))
  command.addOption(optionOf(apiKeyFile, '--api-key-file <file>'))
  command.addOption(optionOf(profile, '--profile <name>'))
  command.addOption(optionOf(timeout, '--timeout <time>'))
  return command.optionsGroup('Options:')
}

export function jsonOption(): Option {
  return new Option('--json', 'print one JSON document')
}

/** Does without asking what a person would be asked about. */
export function yesOption(): Option {
  return new Option('-y, --yes', 'do it without asking')
}

/** For the commands that work on the database themselves. */
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
