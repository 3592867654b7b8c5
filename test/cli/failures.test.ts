import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { readBlocklist } from '../../packages/cli/src/server/blocklist.ts'
import { openLogSigner } from '../../packages/cli/src/server/log-key.ts'
import { exitCodes } from '../../packages/cli/src/terminal/exit-codes.ts'
import {
  type Config,
  loadConfig,
  settings,
} from '../../packages/server/src/config/server-settings.ts'
import { newApiKeySecret } from '../../packages/server/src/kernel/access/secrets.ts'
import { rememberSecret } from '../support/secrets.ts'
import { freePort } from '../support/server/process.ts'
import { listen, programFor, type Ran, startShell } from './support.ts'

const shell = await startShell()

const list = ['key', 'list']

function* repeat(chunk: Buffer): Generator<Buffer> {
  for (;;) yield chunk
}

/** Expects one line and hints on stderr, nothing on stdout, no stack, and the exit code. */
function expectFailure(ran: Ran, kind: keyof typeof exitCodes, message: RegExp): void {
  expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code: exitCodes[kind].code, stdout: '' })
  const [first = '', ...hints] = ran.stderr.trimEnd().split('\n')
  expect(first).toMatch(/^pubring: /)
  expect(ran.stderr).toMatch(message)
  for (const hint of hints) expect(hint).toMatch(/^hint: /)
}

describe('a file without end', () => {
  const tooLarge = /is too large\./
  const notADatabase = /\/dev\/zero is not a database, but a folder, a device or a pipe/
  const database = ['--database-url', 'sqlite:/dev/zero']
  /** One call for each argument that names a file, by command. */
  const readers: Record<string, [args: string[], message: RegExp]> = {
    'import <source>': [['/dev/zero'], tooLarge],
    'apply <file>': [['/dev/zero'], tooLarge],
    'key add <file>': [['/dev/zero', '--label', 'x', '--algorithm', 'ES256'], tooLarge],
    'key check <file>': [['/dev/zero'], tooLarge],
    'key-uses report [file]': [['/dev/zero', '--as', 'edge'], /has a line of more than 1 MiB/],
    'key rotate [file]': [['/dev/zero', '--token-lifetime', '1h'], tooLarge],
    'token sample <file>': [['/dev/zero'], tooLarge],
    'check [file]': [['/dev/zero'], notADatabase],
    'restore <file>': [['/dev/zero', '--database-url', 'sqlite:restored.db'], notADatabase],
    'backup <file>': [['never-written.db', ...database], notADatabase],
    'token check [file]': [['/dev/zero'], tooLarge],
    'access-rule check [file]': [['any', '/dev/zero'], tooLarge],
  }

  test('is named by no other argument of a command', () => {
    const found: string[] = []
    const visit = (command: Command, name: string): void => {
      for (const argument of command.registeredArguments) {
        if (!/^(?:file|source)$/.test(argument.name())) continue
        const text = argument.required ? `<${argument.name()}>` : `[${argument.name()}]`
        found.push(`${name} ${text}`)
      }
      for (const child of command.commands) visit(child, `${name} ${child.name()}`.trim())
    }
    visit(programFor(), '')
    expect(found.sort()).toEqual(Object.keys(readers).sort())
  })

  test.each(Object.entries(readers))('ends %s', async (name, [args, message]) => {
    const command = name.split(' ').slice(0, -1)
    const ran = await shell.pubring([...command, ...args])
    expect({ failed: ran.code !== 0, stdout: ran.stdout }).toEqual({ failed: true, stdout: '' })
    expect(ran.stderr).toMatch(message)
  })

  test('ends commands that open a database', async () => {
    for (const command of [
      'ledger verify',
      'audit',
      'migrate',
      'api-key create --admin --name x',
    ]) {
      const ran = await shell.pubring([...command.split(' '), ...database])
      expect([command, ran.code, ran.stdout]).toEqual([command, 66, ''])
      expect(ran.stderr).toMatch(notADatabase)
    }
  })

  test('ends commands that read an API key or a profile', async () => {
    const env = { PUBRING_API_KEY: undefined, PUBRING_API_KEY_FILE: '/dev/zero' }
    expectFailure(await shell.pubring(list, { env }), 'file', tooLarge)
    const file = [...list, '--api-key-file', '/dev/zero']
    expectFailure(await shell.pubring(file), 'file', tooLarge)
    const folder = join(shell.folder, 'config', 'pubring')
    mkdirSync(folder, { recursive: true })
    symlinkSync('/dev/zero', join(folder, 'config.json'))
    const profile = { XDG_CONFIG_HOME: join(shell.folder, 'config') }
    expectFailure(await shell.pubring(list, { env: profile }), 'file', tooLarge)
  })

  test('ends the start of a server', () => {
    const names = Object.values(settings).map(({ env }) => env)
    const files = names.filter((name) => /(?<!LOG_KEY|LOG_STATE)_FILE$/.test(name))
    expect(files.length).toBeGreaterThan(2)
    for (const name of files) {
      expect(() => loadConfig({ [name]: '/dev/zero' }, {}), name).toThrow(/is too large/)
    }
    expect(() => readBlocklist({ blocklist: '/dev/zero' } as Config)).toThrow(tooLarge)
    const logKey = { databaseUrl: 'postgres://db', logKeyFile: '/dev/zero' }
    expect(() => openLogSigner(logKey, { create: false })).toThrow(tooLarge)
  })
})

describe('an error names what it is about', () => {
  test('a missing or invalid API key, and its source, without quoting it', async () => {
    const missing = await shell.pubring(list, { env: { PUBRING_API_KEY: undefined } })
    expectFailure(missing, 'unauthorized', /export PUBRING_API_KEY=/)
    const secret = rememberSecret('an API key', newApiKeySecret())
    const env = { PUBRING_API_KEY: secret }
    const invalid = await shell.pubring(list, { env })
    expectFailure(invalid, 'unauthorized', /hint: It came from PUBRING_API_KEY\./)
    const file = shell.file('wrong.key', secret)
    const flag = await shell.pubring([...list, '--api-key-file', file], { env })
    expectFailure(flag, 'unauthorized', /hint: It came from .*wrong\.key \(--api-key-file\)\./)
  })

  test('a project that is missing, and its source', async () => {
    const ran = await shell.pubring([...list, '--project', 'paymets'])
    expectFailure(ran, 'not_found', /no project “paymets”[\s\S]*came from --project/)
    const variable = await shell.pubring(list, { env: { PUBRING_PROJECT: 'paymets' } })
    expectFailure(variable, 'not_found', /came from PUBRING_PROJECT/)
    const argument = await shell.pubring(['project', 'show', 'nowhere'])
    expectFailure(argument, 'not_found', /came from the command line\./)
  })

  test('a duplicate or invalid name, and what is no text of a key', async () => {
    const duplicate = await shell.pubring(['project', 'create', 'payments'])
    expectFailure(duplicate, 'conflict', /taken|already/)
    expectFailure(await shell.pubring(['project', 'create', 'a b']), 'refused', /a-z/)
    const file = shell.file('words.txt', 'not a key')
    const ran = await shell.pubring(['key', 'add', file, '--label', 'x', '--algorithm', 'ES256'])
    expectFailure(ran, 'refused', /begins with -----BEGIN PUBLIC KEY----- and ends with -----END/)
  })

  test('the project that a file names is created by an admin of all projects only', async () => {
    const file = shell.file('declared.json', JSON.stringify({ project: 'nowhere', keys: [] }))
    const env = { PUBRING_API_KEY: await shell.test.apiKey('admin', shell.test.project.id) }
    const ran = await shell.pubring(['apply', file], { env })
    expect(ran).toMatchObject({ code: 5, stderr: expect.stringMatching(/for all projects/) })
  })
})

describe('an unreachable server', () => {
  test('connection refused: the error names the address, its source and how to start a server', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const ran = await shell.pubring(list, { env: { PUBRING_URL: url } })
    expectFailure(ran, 'unavailable', /No server listens at http[\s\S]*pubring serve/)
    expect(ran.stderr).toContain(url)
    expect(ran.stderr).toContain('The address came from PUBRING_URL.')
  })

  test('an unknown host, a port that fetch blocks', async () => {
    const unknownHost = await shell.pubring([...list, '--url', 'http://no-such-host.invalid'])
    expectFailure(unknownHost, 'unavailable', /cannot be resolved/)
    const refused = await shell.pubring([...list, '--url', 'http://127.0.0.1:1'])
    expectFailure(refused, 'unavailable', /127\.0\.0\.1:1/)
  })

  test('a response that is not Pubring’s', async () => {
    const { url, close } = await listen((_request, response) => response.end('<html>hello</html>'))
    const ran = await shell.pubring([...list, '--url', url])
    expectFailure(ran, 'untrusted', /Is there a Pubring at/)
    close()
  })

  test.each([
    [200, 64],
    [400, 8],
  ])('a response without end, with status %i, is read up to %i MiB', async (status, limit) => {
    const chunk = Buffer.alloc(1024 * 1024, ' ')
    let sent = 0
    function* counted() {
      for (const each of repeat(chunk)) {
        sent += 1
        yield each
      }
    }
    const { url, close } = await listen((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      Readable.from(counted()).pipe(response)
    })
    for (const command of [list, ['events', '--follow']]) {
      sent = 0
      const ran = await shell.pubring([...command, '--url', url])
      expectFailure(ran, 'untrusted', /Is there a Pubring at/)
      // The data on its way comes on top.
      expect(sent).toBeLessThan(2 * limit + 20)
    }
    close()
  })

  test('a time-out, which limits a command with its retries', async () => {
    let requests = 0
    const { url, close } = await listen(() => {
      requests += 1
    })
    const ran = await shell.pubring(['project', 'list', '--url', url, '--timeout', '1s'])
    expectFailure(ran, 'unavailable', /not answered in time[\s\S]*--timeout/)
    expect(requests).toBe(1)
    close()
  })

  test('an unavailable database', async () => {
    const { restore } = await shell.test.database.destroy()
    try {
      expectFailure(await shell.pubring(list), 'unavailable', /Try again in \d+ s/)
    } finally {
      await restore()
    }
  })
})

describe('an invalid call', () => {
  test.each([
    [['kee', 'list'], /unknown command 'kee'; did you mean key\?/],
    [['key', 'lits'], /unknown command 'lits'; did you mean list\?/],
    [['key', 'list', '--jsno'], /unknown option '--jsno'; did you mean --json\?/],
    [['key', 'show'], /missing required argument 'key'/],
    [['key', 'add', 'k.pem', '--label', 'x', '--algorithm', 'RS265'], /did you mean RS256\?/],
    [['key', 'add', 'k.pem', '--label', 'x', '--expires', 'soon'], /--expires must be a time/],
    [['api-key', 'create', '--name', 'x', '--role', 'wrter'], /reader, registrar, writer, admin/],
    [['api-key', 'create', '--admin', '--role', 'admin'], /cannot be used with/],
    [['key', 'rotate', '--resume', '--old', 'x'], /cannot be used with/],
    [['key', 'rotate', '--resume', 'x', '--new', 'y'], /cannot be used with/],
    [['key', 'rotate', 'x.pem', '--resume', 'y'], /takes no file/],
    [['access-rule', 'create', '--self-rotation', '--role', 'writer'], /cannot be used with/],
    [['events', '--jsonl', '--limit', '1'], /cannot be used with/],
    [['-p', 'x', 'events', '--system'], /cannot be used with/],
    [['export', '--all', '-p', 'x'], /cannot be used with/],
    [['import', 'x', '--all', '-p', 'x'], /cannot be used with/],
    [['api-key', 'update', 'x'], /Name at least one change/],
    [['events', '--after', 'x'], /--after must be a revision/],
    [['key', 'list', '--timeout', 'x'], /--timeout must be a time/],
    [['key', 'list', '--url', 'localhost:8080'], /--url must be an http or https address/],
    [['key', 'list', '--profile', 'missing'], /no profile missing/],
  ])('%j', async (args, message) => {
    expectFailure(await shell.pubring(args), 'usage', message)
  })

  test('a command without its subcommand prints the help', async () => {
    const { code, stdout, stderr } = await shell.pubring(['key'])
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' })
    expect(stderr).toMatch(/rotate[\s\S]*pubring: pubring key needs a command\.\n$/)
  })

  test('an unknown variable', async () => {
    const ran = await shell.pubring(list, { env: { PUBRING_APIKEY: 'x' } })
    expectFailure(ran, 'usage', /PUBRING_APIKEY is not .* did you mean PUBRING_API_KEY\?/)
  })

  test('a file that is missing, a folder or empty', async () => {
    const add = (file: string) => shell.pubring(['key', 'add', file, '--label', 'x'])
    expectFailure(await add(`${shell.folder}/none.pem`), 'file', /There is no file .*none\.pem\./)
    expectFailure(await add(shell.folder), 'file', /is a folder/)
    expectFailure(await add(shell.file('empty.pem', '')), 'refused', /is empty/)
    mkdirSync(`${shell.folder}/keys`)
    const env = { PUBRING_API_KEY: undefined, PUBRING_API_KEY_FILE: `${shell.folder}/keys` }
    expectFailure(await shell.pubring(list, { env }), 'file', /PUBRING_API_KEY_FILE.* is a folder/)
  })
})

describe('an error with --json is one document on stderr', () => {
  test.each([
    [
      'from the server',
      ['key', 'show', '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'],
      6,
      'key_not_found',
    ],
    ['from the command', ['key', 'show', 'missing'], 6, 'key_not_found'],
    ['from an invalid call', ['key', 'list', '--wrong'], 64, 'usage'],
    ['from a connection', ['key', 'list', '--url', 'http://127.0.0.1:1'], 8, 'unreachable'],
  ])('%s', async (_name, args, exitCode, code) => {
    const ran = await shell.pubring([...args, '--json'])
    expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code: exitCode, stdout: '' })
    expect(JSON.parse(ran.stderr)).toMatchObject({
      code,
      exitCode,
      detail: expect.any(String),
      hints: expect.any(Array),
    })
  })

  test('an error from the server has its status and request id', async () => {
    const ran = await shell.pubring(['--json', 'project', 'show', 'missing'])
    const requestId = expect.stringMatching(/./)
    expect(JSON.parse(ran.stderr)).toMatchObject({ status: 404, requestId })
  })
})

test.each([
  ['key', /Usage: pubring key /],
  ['key add', /Usage: pubring key add /],
  ['key help add', /Usage: pubring key add /],
  ['', /Usage: pubring /],
])('pubring help %s prints that help', async (words, usage) => {
  const all = words.split(' ').filter(Boolean)
  const ran = await shell.pubring(all.includes('help') ? all : ['help', ...all])
  expect(ran).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(usage) })
})
