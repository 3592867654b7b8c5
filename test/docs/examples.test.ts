import { readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { createProgram, globalOptionsLast } from '../../packages/cli/src/program.ts'
import { commandHelps } from '../../scripts/cli-document.ts'
import { pages } from '../support/docs.ts'

const read = (page: string) => readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8')

const texts = [
  ...pages.map((page): [string, string] => [page, read(page)]),
  ...[...commandHelps()].map(([name, help]) => [`${name} --help`, `\`\`\`text\n${help}\n\`\`\``]),
]

/** Every call of `pubring` that a page shows in a block, and those of the examples of help. */
const calls = texts.flatMap(([page = '', text = '']) => {
  const blocks = text.matchAll(/^ *```(?:sh|bash|console|text)\n([\s\S]*?)^ *```$/gm)
  const lines = [...blocks].flatMap(([, block = '']) =>
    block.replaceAll(/ \\\n */g, ' ').split('\n'),
  )
  return lines
    .flatMap((line) => [
      ...line.matchAll(/(?:^ *|[$#|&(]\s*|npx )(pubring (?!-|\[|COMMAND)[^\n]*)/g),
    ])
    .map(([, call = '']) => {
      // A quotation may go on in the next line.
      const outer = call.replaceAll(/\$\([^)]*\)/g, 'VALUE').replace(/ '$/, ' VALUE')
      return { page, call: outer.replace(/\s+(?:#|\||&&|&$|>|<).*$|\).*$/, '') }
    })
})

function parser(): Command {
  const program = createProgram({
    env: {},
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    exitCode: 0,
    json: false,
    interruptSignal: () => new AbortController().signal,
    lowerPriority: () => {},
  })
  const disarm = (command: Command) => {
    if (command.commands.length === 0) command.action(() => {})
    command.commands.forEach(disarm)
  }
  disarm(program)
  return program
}

test('every pubring command that a page or a help text shows has options and arguments that exist', async () => {
  expect(calls.length).toBeGreaterThan(150)
  for (const { page, call } of calls) {
    const [, ...words] = [...call.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) =>
      word.replaceAll(/["']/g, ''),
    )
    const program = parser()
    const { args } = globalOptionsLast(program, words)
    const parsed = program.parseAsync([...args], { from: 'user' })
    const error = await parsed.then(
      () => undefined,
      ({ message }: Error) => message,
    )
    expect(error, `${page}: ${call}`).toBeUndefined()
  }
})
