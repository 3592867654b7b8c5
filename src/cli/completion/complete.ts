import type { Command, Option } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'
import { fileKinds, valuesOf } from './values.ts'
import { expectedAt } from './words.ts'

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
