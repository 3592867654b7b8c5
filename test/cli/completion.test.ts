import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, test } from 'vitest'
import { ecKey } from '../support/keys/pem.ts'
import { freePort } from '../support/server/process.ts'
import { waitFor } from '../support/waiting.ts'
import { startShell } from './support.ts'

const main = join(import.meta.dirname, '../../bin/pubring.js')
let shell: Awaited<ReturnType<typeof startShell>>
let kid: string
/** Runs commands where a shell expands it. */
const evil = 'evil$(touch PWNED)`touch PWNED`"\\ $HOME;touch PWNED;'
let evilKid: string
beforeAll(async () => {
  shell = await startShell()
  const add = (label: string) =>
    shell.pubring(['key', 'add', '-', '--label', label], { input: ecKey().publicKeyPem })
  kid = (await add('orders service')).stdout.trim()
  await add("it's 5 $")
  evilKid = (await add(evil)).stdout.trim()
  await add('wow!')
  await shell.pubring(['login', '--url', shell.url, '--profile', 'production'], {
    input: shell.test.admin,
  })
  mkdirSync(join(shell.folder, 'bin'))
  const script = `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`
  writeFileSync(join(shell.folder, 'bin/pubring'), script, { mode: 0o755 })
  shell.file('spring.pem', '')
})

/** Completion gives up after a second, which a busy machine may need: a person presses Tab again. */
const pressTabUntil = waitFor

/** The words that can stand at the end of the line. */
async function offered(words: readonly string[], env = {}): Promise<string[]> {
  const ran = await shell.pubring(['complete', '--', ...words], { env })
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  return ran.stdout.split('\n').flatMap((line) => line.split('\t')[0] || [])
}

describe('completion offers', () => {
  test.each<[string[], string[]]>([
    [['--json', 'key', 'sh'], ['show']],
    [['key', 'show', '--pe'], ['--pem']],
    [['key', 'show', 'ord'], ['orders service']],
    [['key', 'delete', 'x', 'y', 'ord'], ['orders service']],
    [['key', 'rotate', '--old', 'ord'], ['orders service']],
    [['key', 'list', '--project', ''], ['payments']],
    [['key', 'list', '--project=p'], ['--project=payments']],
    [['key', 'list', '--project', '=', 'p'], ['payments']],
    [['project', 'show', 'p'], ['payments']],
    [['key', 'add', 'x.pem', '--algorithm', 'PS2'], ['PS256']],
    [
      ['events', '--all', '--type', 'token.'],
      ['token.exchanged', 'token.used'],
    ],
    [['--profile', ''], ['production']],
    [['api-key', 'update', 'a '], ['a admin']],
    [['api-key', 'create', '--role', 'wr'], ['writer']],
    [['key', 'add', ''], [':files']],
    [['key', 'list', '--api-key-file', ''], [':files']],
    [['completion', 'z'], ['zsh']],
  ])('%j', async (words, expected) => {
    await pressTabUntil(async () => expect(await offered(words)).toEqual(expected))
  })

  test('keys by the shortest end of a kid that tells them apart, and by label', async () => {
    const words = ['key', 'show', kid.slice(-6, -2)]
    const [first = ''] = await pressTabUntil(async () => {
      const found = await offered(words)
      expect(found).not.toEqual([])
      return found
    })
    expect(kid.endsWith(first)).toBe(true)
    expect((await shell.pubring(['key', 'show', first, '--json'])).stdout).toContain(kid)
    await pressTabUntil(async () => expect(await offered(['key', 'show', ''])).toHaveLength(8))
  })

  test('keys of the project and server in the line, and nothing while that is away', async () => {
    await shell.pubring(['project', 'create', 'empty'])
    expect(await offered(['--project', 'empty', 'key', 'show', ''])).toEqual([])
    const url = `http://127.0.0.1:${await freePort()}`
    expect(await offered(['key', 'show', '--url', url, ''])).toEqual([])
    expect(
      await offered(['key', 'show', ''], { PUBRING_API_KEY: undefined, HOME: '/none' }),
    ).toEqual([])
  })
})

/** Runs the command where `pubring` is this one. */
async function runReal(command: string, args: readonly string[], input = ''): Promise<string> {
  const env = {
    PATH: `${shell.folder}/bin:${process.env.PATH}`,
    HOME: shell.folder,
    TERM: 'dumb',
    PUBRING_URL: shell.url,
    PUBRING_API_KEY: shell.test.admin,
    PUBRING_PROJECT: 'payments',
  }
  const child = spawn(command, args, { env, cwd: shell.folder })
  child.stdin.end(input)
  const [out] = await Promise.all([text(child.stdout), once(child, 'close')])
  return out
}

const isInstalled = (name: string) => spawnSync(name, ['--version']).status === 0

/** In each shell, a function that prints what Tab would offer behind the words. */
const harness: Readonly<Record<string, string>> = {
  bash: `script=$(pubring completion bash); eval "$script"; eval "$script"
    offer() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pubring; printf '%s\\n' "\${COMPREPLY[@]}"; echo .; }`,
  zsh: `script=$(pubring completion zsh); eval "$script"; eval "$script"
    compadd() { print -rl -- $values; }; _files() { print -l *.pem; }
    offer() { words=("$@"); CURRENT=$#; _pubring; print .; }`,
}

test('bash is offered nothing that no quoting keeps from expanding', async () => {
  const script = `${harness.bash}
    offer pubring key show '"wow'
    offer pubring key show "'wow"
    offer pubring key show "'it"`
  await pressTabUntil(async () => {
    const out = await runReal('bash', ['-c', script])
    expect(out.split(/^\.\n/m)).toEqual(['\n', 'wow!\n', '\n', ''])
  })
})

describe.each([
  ['bash', ['orders\\ service', "it\\'s\\ 5\\ \\$"], ['orders service']],
  ['zsh', ['orders service', "it's 5 $"], ['orders service']],
] as const)('in %s', (name, labels, quoted) => {
  test.runIf(isInstalled(name))(
    'labels, quoted words, files and commands are completed',
    async () => {
      const script = `${harness[name]}
       offer pubring key show o
       offer pubring key show it
       offer pubring key show '"ord'
       offer pubring key add sp`
      await pressTabUntil(async () => {
        const out = await runReal(name, [...(name === 'zsh' ? ['-f'] : []), '-c', script])
        expect(out.split(/^\.\n/m).map((part) => part.trimEnd().split('\n'))).toEqual([
          [labels[0]],
          [labels[1]],
          [...quoted],
          ['spring.pem'],
          [''],
        ])
      })
    },
  )

  test.runIf(isInstalled(name) && isInstalled('script'))(
    'a completed label runs no command, with any quote',
    async () => {
      const start = name === 'zsh' ? 'zsh -f -i' : 'bash --norc --noprofile -i'
      const lines = ['', '"', "'"].map((quote) => `pubring key show ${quote}evil\t\necho .\n`)
      const typed = `eval "$(pubring completion ${name})"\n${lines.join('')}exit\n`
      await pressTabUntil(async () => {
        const out = await runReal('script', ['-qec', start, '/dev/null'], typed)
        expect(out.split(evilKid)).toHaveLength(4)
      })
      expect(existsSync(join(shell.folder, 'PWNED'))).toBe(false)
    },
  )
})
