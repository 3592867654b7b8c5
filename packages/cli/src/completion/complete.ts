import type { Client } from '@pubring/client'
import { algorithmNames } from '@pubring/intake/algorithms'
import { eventTypes } from '@pubring/server/features/events/types'
import type { Argument, Command, Option } from 'commander'
import { readConfiguration } from '../connection/configuration.ts'
import { type ConnectionFlags, resolveConnection } from '../connection/connection.ts'
import { withConnection } from '../connection/session.ts'
import { uniqueLength } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

/**
 * Prints a line for each word that can stand at the cursor, with a description behind a tab, and
 * `:files` where files can. Says nothing else, and never fails.
 */
export async function complete(
  terminal: Terminal,
  { program, globalOptions }: { program: Command; globalOptions: readonly Option[] },
  words: readonly string[],
): Promise<void> {
  const { words: known, kind, prefix, text, flags } = expectedAt(program, globalOptions, words)
  const looked = kind === undefined ? [] : await valuesOf(terminal, kind, flags)
  const lines = [...known, ...looked]
    .filter((value) => value.text.startsWith(text) && !/[\t\n]/.test(value.text))
    .map((value) => `${prefix}${value.text}${value.about ? `\t${value.about}` : ''}\n`)
  terminal.stdout.write(lines.join('') + (fileKinds.includes(kind ?? '') ? ':files\n' : ''))
}

/** The candidates for the word at the cursor. */
interface Expected {
  /** Commands and options, with what they do. */
  words: Value[]
  /** The name of the values to look up, such as `<key>`; a file if it is `file`. */
  kind?: string
  /** Stands in front of each value, such as `--project=`. */
  prefix: string
  text: string
  /** Options of the line that choose the server and the project. */
  flags: ConnectionFlags
}

/** Returns the candidates at the cursor; the last of the words, which may be empty, ends there. */
function expectedAt(
  program: Command,
  globalOptions: readonly Option[],
  words: readonly string[],
): Expected {
  let command = program
  let given = 0
  let open: Option | undefined
  const flags: Record<string, string> = {}
  // Bash splits words at =.
  const before = words.slice(0, -1).filter((word) => word !== '=')
  const last = words.at(-1) === '=' ? '' : (words.at(-1) ?? '')
  const optionOf = (name: string) =>
    [...command.options, ...globalOptions].find(({ long, short }) => [long, short].includes(name))
  for (const word of before) {
    const [name = '', value] = word.split(/=(.*)/s)
    if (open !== undefined) {
      flags[open.attributeName()] = word
      open = undefined
    } else if (word.startsWith('-')) {
      const option = optionOf(name)
      if (option?.required && value === undefined) open = option
      else if (option !== undefined && value !== undefined) flags[option.attributeName()] = value
    } else {
      const next = command.commands.find((each) => each.name() === word)
      if (next === undefined) given += 1
      else command = next
    }
  }
  const [, name = '', value = ''] = /^(--[\w-]+)=(.*)$/s.exec(last) ?? []
  if (name !== '') {
    return { ...expectedOf(optionOf(name)), prefix: `${name}=`, text: value, flags }
  }
  const rest = { prefix: '', text: last, flags }
  if (open !== undefined) return { ...expectedOf(open), ...rest }
  if (last.startsWith('-')) return { words: optionsOf(command), ...rest }
  const { registeredArguments: all } = command
  const argument = all[given] ?? (all.at(-1)?.variadic ? all.at(-1) : undefined)
  return {
    ...(argument === undefined ? { words: commandsOf(command) } : expectedOf(argument)),
    ...rest,
  }
}

function expectedOf(taker: Option | Argument | undefined): Pick<Expected, 'words' | 'kind'> {
  if (taker?.argChoices !== undefined) return { words: taker.argChoices.map((text) => ({ text })) }
  if (taker === undefined) return { words: [] }
  if (!('flags' in taker)) return { words: [], kind: taker.name() }
  const [, placeholder = ''] = /[<[]([\w-]+)/.exec(taker.flags) ?? []
  const isGeneral = placeholder === 'name' || placeholder === 'id-or-name'
  return { words: [], kind: isGeneral ? taker.name() : placeholder }
}

function commandsOf(command: Command): Value[] {
  const visible = command.createHelp().visibleCommands(command)
  return visible.map((each) => ({
    text: each.name(),
    about: formatDescription(each.description()),
  }))
}

function optionsOf(command: Command): Value[] {
  const visible = command.createHelp().visibleOptions(command)
  return visible.map(({ long, description }) => ({
    text: `${long}`,
    about: formatDescription(description),
  }))
}

/** A word that the shell offers. */
interface Value {
  text: string
  /** Shown beside it. */
  about?: string
}

/** Longer makes a prompt seem to hang. */
const timeoutMs = 1_000

type LookUp = (client: Client, project: string) => Promise<Value[]>

/** The look-ups by name of an argument, an option or its placeholder. */
const lookUps: Readonly<Record<string, LookUp>> = {
  project: async (client) => (await Array.fromAsync(client.projects.all())).map(named),
  key: async (client, project) => {
    const keys = await client.keys.list(project)
    const length = uniqueLength(keys.map(({ id }) => id))
    return keys.flatMap(({ id, label, algorithm }) => [
      { text: id.slice(-length), about: formatDescription(label) },
      { text: label, about: algorithm },
    ])
  },
  'api-key': async (client) => (await client.apiKeys.list()).map(named),
  rule: async (client) => (await client.accessRules.list()).map(named),
}

function named({ name, id }: { name: string; id: string }): Value {
  return { text: name, about: id }
}

/** Values that need no server. */
const lists: Readonly<Record<string, readonly string[]>> = {
  algorithm: algorithmNames,
  types: eventTypes,
}

/** The kinds of values for which the shell offers files. */
const fileKinds = ['file', 'path', 'source']

/** The values of a kind; none if the server cannot be asked at once. */
async function valuesOf(
  terminal: Terminal,
  kind: string,
  flags: ConnectionFlags,
): Promise<Value[]> {
  const listed = lists[kind]
  if (listed !== undefined) return listed.map((text) => ({ text }))
  const lookUp = lookUps[kind]
  try {
    if (kind === 'profile') {
      const { profiles } = readConfiguration(terminal.env)
      return Object.entries(profiles).map(([text, { url = '' }]) => ({ text, about: url }))
    }
    // A token of a platform is not exchanged for an API key just to look.
    const connection = resolveConnection(terminal.env, flags)
    if (lookUp === undefined || connection.apiKey === undefined) return []
    let values: Value[] = []
    await withConnection(terminal, { ...connection, timeoutMs }, async ({ client, project }) => {
      values = await lookUp(client, project)
    })
    return values
  } catch {
    // An error would be written into the line that the user types.
    return []
  }
}

/** Puts a text on one line. */
function formatDescription(text: string): string {
  return text.replace(/\s+/g, ' ')
}
