import type { Argument, Command, Option } from 'commander'
import type { ConnectionFlags } from '../connection/connection.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { fileKinds, formatDescription, type Value, valuesOf } from './values.ts'

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

/** What the word at the cursor can be. */
interface Expected {
  /** Commands and options, with what they do. */
  words: Value[]
  /** The name of the values to look up, such as `<key>`; a file if it is `file`. */
  kind?: string
  /** In front of each value: `--project=`. */
  prefix: string
  /** The part of the word to complete. */
  text: string
  /** Options of the line that choose the server and the project. */
  flags: ConnectionFlags
}

/** What can stand at the cursor; the last of the words, which may be empty, ends there. */
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
