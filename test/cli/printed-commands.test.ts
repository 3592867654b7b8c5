import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { sendImport } from '../support/app/imports.ts'
import { ecKey, rsaKey } from '../support/keys/pem.ts'
import { openShell, programFor, type Ran, startShell } from './support.ts'

/*
 * The commands that hints and messages print, each at the end of its line. Each is run here in the
 * situation in which it is printed, where variables name another server and project, and must do what
 * the words before it say.
 */

// Without caching, every verifier knows a state after a second.
const shell = await startShell({ config: { jwksMaxAge: 0 } })
const elsewhere = { PUBRING_URL: 'http://127.0.0.1:1', PUBRING_PROJECT: 'elsewhere' }
const url = ['--url', shell.url]
const there = ['--project', 'there', ...url]
const pubring = (...args: string[]) => shell.pubring(args, { env: elsewhere })

/** The command at the end of a line of messages. */
function commandIn({ stderr }: Ran, start: string): string {
  const lines = stderr.split('\n').map((line) => line.slice(line.indexOf(`: ${start}`) + 2))
  const found = lines.find((line) => line.startsWith(start))
  if (found === undefined) expect.fail(`${start} is not in:\n${stderr}`)
  return found
}

/** The arguments of a command of pubring; `fill` replaces those that stand for others. */
function argsOf(command: string, fill: Record<string, string> = {}): string[] {
  const words = command.match(/(?:'[^']*'|\\'|[^\s'])+/g) ?? []
  return words.slice(1).map((word) => fill[word] ?? word.replaceAll(/'([^']*)'/g, '$1'))
}

const follow = (ran: Ran, start: string, fill = {}) =>
  pubring(...argsOf(commandIn(ran, start), fill))

const inFolder = (command: string) =>
  execFileSync('sh', ['-euc', command], { cwd: shell.folder, encoding: 'utf8', stdio: 'pipe' })

const newFile = (name: string) => shell.file(name, ecKey().publicKeyPem)

async function add(label: string, ...args: string[]): Promise<string> {
  const ran = await pubring('key', 'add', newFile(`${label}.pem`), '--label', label, ...args)
  expect(ran.code, ran.stderr).toBe(0)
  return ran.stdout.trim()
}

async function createProject(name: string): Promise<string[]> {
  expect((await pubring('project', 'create', name, ...url)).code).toBe(0)
  return ['--project', name, ...url]
}

const isActive = async (kid: string, where: string[]) =>
  JSON.parse((await pubring('key', 'show', kid, '--json', ...where)).stdout).active

beforeAll(async () => {
  await createProject('there')
  await add('only', ...there)
})

describe('lists show what was not found', () => {
  test.each([
    [['key', 'show', 'missing'], 'pubring key list', /\tonly\t/],
    [['key', 'rotate', '--resume', 'missing'], 'pubring key rotation list', /^$/],
    [['key', 'rotate', '--resume'], 'pubring key rotation list', /^$/],
  ])('%j', async (args, start, found) => {
    const listed = await follow(await pubring(...args, ...there), start)
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringMatching(found) })
  })

  test.each([
    [['api-key', 'show', 'missing'], 'pubring api-key list', /\ta admin\t/],
    [['access-rule', 'show', 'missing'], 'pubring access-rule list', /^$/],
    [['project', 'show', 'missing'], 'pubring project list', /^there\t/m],
    [['key', 'list', '--project', 'missing'], 'pubring project list', /^there\t/m],
    [['project', 'delete', 'there', '--yes'], 'pubring key list', /\tonly\t/],
  ])('%j', async (args, start, found) => {
    const listed = await follow(await pubring(...args, ...url), start)
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringMatching(found) })
  })
})

describe('a key', () => {
  test('that is registered already is shown', async () => {
    const file = `${shell.folder}/only.pem`
    const ran = await pubring('key', 'add', file, '--label', 'again', ...there)
    expect((await follow(ran, 'pubring key show')).stdout).toMatch(/^label\tonly$/m)
  })

  test('that is active is deactivated, and then deleted', async () => {
    const kid = await add('to-delete', ...there)
    const remove = ['key', 'delete', kid, '--yes', ...there]
    expect((await follow(await pubring(...remove), 'pubring key deactivate')).code).toBe(0)
    expect((await pubring(...remove)).code).toBe(0)
  })

  test('that has expired is activated', async () => {
    const time = '2024-05-01T10:00:00.000Z'
    const key = { name: 'past', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }
    const past = { createTime: time, updateTime: time, expireTime: '2025-01-01T00:00:00.000Z' }
    await sendImport(shell.test, [{ ...key, ...past }], { project: 'there' })
    const ran = await pubring('key', 'activate', 'past', ...there)
    expect((await follow(ran, 'pubring key activate')).stderr).toContain('Activated “past”.')
  })

  test('is the first of a project that was created, or that has none', async () => {
    const fill = { 'public.pem': newFile('first.pem') }
    const created = await pubring('project', 'create', 'fresh', ...url)
    const listed = await pubring('key', 'list', '--project', 'fresh', ...url)
    const rotated = await pubring(
      ...['key', 'rotate', newFile('next.pem'), '--label', 'next', '--token-lifetime', '1h'],
      ...['--project', 'fresh', ...url],
    )
    expect((await follow(created, 'pubring key add', fill)).code).toBe(0)
    const [one, other] = [listed, rotated].map((ran) => commandIn(ran, 'pubring key add'))
    expect([one, other]).toEqual(Array(2).fill(commandIn(created, 'pubring key add')))
    const keys = await pubring('key', 'list', '--project', 'fresh', ...url)
    expect(keys.stdout).toMatch(/\tfirst key\t/)
  })

  test('needs a label, which is added to the same command', async () => {
    const args = ['key', 'add', newFile('a key.pem'), '--inactive', ...there]
    const ran = await pubring(...args)
    const [, label = ''] = /^hint: Add one: (--label .*)$/m.exec(ran.stderr) ?? []
    const added = await pubring(...args, ...argsOf(`_ ${label}`))
    expect(added.stderr).toContain('Registered “a key” (ES256) in project there, inactive.')
  })
})

test('projects are created where there are none', async () => {
  const empty = await startShell()
  const where = ['--url', empty.url]
  const run = (args: string[]) => empty.pubring(args, { env: elsewhere })
  await run(['project', 'delete', 'payments', '--yes', ...where])
  const listed = await run(['project', 'list', ...where])
  const args = argsOf(commandIn(listed, 'pubring project create'), { NAME: 'first' })
  expect((await run(args)).code).toBe(0)
  await empty.close()
})

describe('a rotation', () => {
  test('that was interrupted is resumed, and ends no key', async () => {
    const where = await createProject('left')
    const old = await add('left-old', ...where)
    const controller = new AbortController()
    const args = ['key', 'rotate', newFile('left.pem'), '--label', 'new', '--token-lifetime', '1h']
    const stopped = await shell.pubring([...args, '--switched', ...where], {
      env: elsewhere,
      signal: controller.signal,
      onStderr: (text) => text.includes('2. Until every') && controller.abort(),
    })
    expect(stopped.code).toBe(130)
    const resumed = await follow(stopped, 'pubring key rotate --resume')
    expect(resumed.stderr).toMatch(/3\. Now switch the signer/)
    expect(await isActive(old, where)).toBe(true)
    expect((await pubring('key', 'show', old, ...where)).stdout).not.toMatch(/^expireTime/m)
    const command = argsOf(commandIn(resumed, 'pubring key rotate --resume'))
    const finished = await pubring(...command, '--switched')
    expect(finished.stderr).toMatch(/4\. The old key, .*, expires at/)
  })

  test('to a key that is inactive now goes on once that is activated', async () => {
    const where = await createProject('asleep')
    await add('asleep-old', ...where)
    const file = newFile('asleep-new.pem')
    const rotate = ['key', 'rotate', file, '--label', 'new', '--token-lifetime', '1h', ...where]
    const kid = (await pubring(...rotate)).stdout.trim()
    await pubring('key', 'deactivate', kid, ...where)
    const ran = await pubring(...rotate)
    expect((await follow(ran, 'pubring key show')).stdout).toMatch(/^state\toff$/m)
    await pubring('key', 'activate', kid, ...where)
    expect((await pubring(...rotate)).stderr).toMatch(/3\. Now switch the signer/)
  })

  test('from one of several keys names them, and confirms what ends the last one', async () => {
    const where = await createProject('several')
    await add('several-a', ...where)
    await add('several-b', ...where)
    const file = newFile('several.pem')
    const rotate = ['key', 'rotate', file, '--label', 'new', '--token-lifetime', '1h', ...where]
    const ran = await pubring(...rotate)
    const choices = [...ran.stderr.matchAll(/^hint: (--old \S+) {2}\(several-[ab]\)$/gm)]
    expect(choices).toHaveLength(2)
    const [, choice = ''] = choices[0] ?? []
    expect((await pubring(...rotate, ...choice.split(' '))).stderr).toMatch(/3\. Now switch/)
  })
})

describe('an import', () => {
  test('of a project with another id renames the one that is on that server', async () => {
    await createProject('moved')
    const keys = [{ label: 'k', publicKeyPem: ecKey().publicKeyPem }]
    const projects = [{ id: '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71', name: 'moved', keys }]
    const text = JSON.stringify({ format: 'pubring-export', version: 1, projects })
    const args = ['import', shell.file('moved.json', text), '--all', ...url]
    expect((await follow(await pubring(...args), 'pubring project rename')).code).toBe(0)
    expect(await pubring(...args)).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('--release-name'),
    })
    expect((await pubring(...args, '--release-name')).stdout).toMatch(/^1\tcreated\t/)
  })

  test('of a private key says how to get its public half', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
    const file = shell.file('private.pem', `${ecKey().publicKeyPem}${pem}`)
    const checked = await follow(await pubring('import', file, ...there), 'pubring key check', {
      FILE: file,
    })
    const [, command = ''] = /public half: (openssl .*)$/m.exec(checked.stdout) ?? []
    inFolder(command)
    const imported = await pubring('import', join(shell.folder, 'public.pem'), ...there)
    expect(imported.stdout).toMatch(/^1\tcreated\t/)
  })
})

describe('a private key', () => {
  const sample = (file: string) => pubring('token', 'sample', file, '--kid', 'k', ...there)
  const token = /^ey[\w.-]+\n$/
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const encrypted = {
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'x',
  } as const
  const forms: [string, (file: string) => string | Buffer, string][] = [
    ['encrypted', () => privateKey.export(encrypted), 'decrypted.pem'],
    ['in DER', () => privateKey.export({ type: 'pkcs8', format: 'der' }), 'converted.pem'],
    ['of OpenSSH', openSshKey, 'converted.pem'],
  ]

  function openSshKey(file: string): Buffer {
    inFolder(`ssh-keygen -q -t rsa -b 2048 -N '' -f '${file}'`)
    return readFileSync(join(shell.folder, file))
  }

  test.each(forms)('%s is converted', async (name, make, written) => {
    const file = shell.file(`${name}.key`, make(`${name} pair`))
    const keep = ['key', 'keep', join(shell.folder, `${name} kept`), '--from', file, '--once']
    const project = ['--project', shell.test.project.id, '--token-lifetime', '1m']
    for (const ran of [await sample(file), await pubring(...keep, ...project, ...url)]) {
      expect(ran.code).toBe(66)
      const [, command = ''] =
        /To (?:decrypt it|convert it|convert DER): (.*)$/m.exec(ran.stderr) ?? []
      inFolder(command.replace('openssl pkey', 'openssl pkey -passin pass:x'))
      const signed = await sample(join(shell.folder, written))
      expect(signed).toMatchObject({ code: 0, stdout: expect.stringMatching(token) })
    }
  })

  test('whose public half is not registered', async () => {
    const pair = rsaKey()
    const pem = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const args = ['token', 'sample', shell.file('signer.pem', pem), ...there]
    const ran = await pubring(...args)
    const fill = { 'public.pem': shell.file('public.pem', pair.publicKeyPem), LABEL: 'signer' }
    expect((await follow(ran, 'pubring key add', fill)).code).toBe(0)
    const signed = await pubring(...args)
    expect(signed).toMatchObject({ code: 0, stdout: expect.stringMatching(token) })
  })
})

const reader = await shell.test.apiKey('reader')

describe('access', () => {
  const file = shell.file('reader.key', reader)
  const asReader = [...url, '--api-key-file', file]
  const own = openShell(() => ({}))
  const bare = (args: string[], input = '') => own.pubring(args, { env: elsewhere, input })

  test('that does not suffice is shown', async () => {
    const input = newFile('refused.pem')
    const args = ['key', 'add', input, '--label', 'x', '--project', 'there', ...asReader]
    const ran = await follow(await pubring(...args), 'pubring whoami')
    expect(ran.stdout).toBe('a reader (reader)\n')
  })

  test('that is missing is stored by a login, and by another one once it is invalid', async () => {
    const list = ['key', 'list', '--url', shell.url, '--project', 'there']
    const missing = await bare(list)
    const login = argsOf(commandIn(missing, 'pubring login'))
    const secret = await shell.test.apiKey('reader')
    expect((await bare([...login, '--project', 'there'], secret)).code).toBe(0)
    expect((await bare(list)).stdout).toMatch(/\tonly\t/)
    const keys = JSON.parse((await pubring('api-key', 'list', '--json', ...url)).stdout)
    await pubring('api-key', 'delete', keys.at(-1).id, '--yes', ...url)
    // Another server, which the variable names, must not take the place of that of the profile.
    const named = ['key', 'list', '--profile', 'default']
    const invalid = await bare(named)
    expect(invalid.code).toBe(4)
    const again = argsOf(commandIn(invalid, 'pubring login'))
    expect((await bare(again, shell.test.admin)).code).toBe(0)
    expect((await bare(named)).stdout).toMatch(/\tonly\t/)
    const gone = await bare(['key', 'list', '--profile', 'second'])
    const create = argsOf(commandIn(gone, 'pubring login'), { URL: shell.url })
    expect((await bare(create, shell.test.admin)).stderr).toContain('is profile second')
  })

  test('a login is not recommended where another source comes first', async () => {
    const secret = await shell.test.apiKey('reader')
    const keys = JSON.parse((await pubring('api-key', 'list', '--json', ...url)).stdout)
    await pubring('api-key', 'delete', keys.at(-1).id, '--yes', ...url)
    const ran = await own.pubring(['key', 'list'], {
      env: { PUBRING_URL: shell.url, PUBRING_API_KEY: secret },
    })
    expect(ran.code).toBe(4)
    expect(ran.stderr).not.toContain('pubring login')
  })
})

test('a server is started at the address that was tried, on this machine only', async () => {
  const near = await pubring('key', 'list', '--url', 'http://127.0.0.1:2')
  expect(commandIn(near, 'pubring serve')).toBe('pubring serve --port 2')
  const far = await pubring('key', 'list', '--url', 'http://0.0.0.0:2')
  expect(far.stderr).toMatch(/No server listens[\s\S]*PUBRING_URL/)
  expect(far.stderr).not.toContain('pubring serve')
})

test.each(['/console', '/console/#/projects', '/docs'])(
  'the address of a page, %s, leads to that of its server',
  async (page) => {
    const address = `${shell.url}${page}`
    const list = (to: string) => pubring('key', 'list', '--project', 'there', '--url', to)
    const { stderr } = await list(address)
    const [, ...left] = /leave out (\/\w+) or (\/\w+), and all after it/.exec(stderr) ?? []
    const end = left.map((each) => address.indexOf(each)).find((at) => at >= 0)
    expect((await list(address.slice(0, end))).stdout).toMatch(/\tonly\t/)
  },
)

const here = 'test/cli/printed-commands.test.ts'

/** The test that runs each command in the situation in which a file prints or names it. */
const testedIn: Readonly<Record<string, string>> = {
  'agents/src/follow/formats.ts: jwks follow': 'test/agents/follow/processes.long.test.ts',
  'agents/src/keep/keep.ts: key expire --project': 'test/agents/keep/from.test.ts',
  'cli/src/admin/access-rules.ts: access-rule list': here,
  'cli/src/admin/api-keys.ts: api-key list': here,
  'cli/src/admin/projects.ts: key add --label': here,
  'cli/src/admin/projects.ts: project create': here,
  'cli/src/admin/projects.ts: project list': here,
  'cli/src/admin/registration-links.ts: registration-link list':
    'test/cli/registration-links.test.ts',
  'cli/src/completion/scripts.ts: complete': 'test/cli/completion.test.ts',
  'cli/src/connection/client-errors.ts: access-rule check': 'test/cli/access-rules.test.ts',
  'cli/src/connection/client-errors.ts: api-key create --admin': 'test/e2e/api-key-create.test.ts',
  'cli/src/connection/client-errors.ts: api-key list': here,
  'cli/src/connection/client-errors.ts: key activate --expires': here,
  'cli/src/connection/client-errors.ts: key deactivate': here,
  'cli/src/connection/client-errors.ts: key list': here,
  'cli/src/connection/client-errors.ts: key rotate': here,
  'cli/src/connection/client-errors.ts: key show': here,
  'cli/src/connection/client-errors.ts: login': 'test/cli/login.test.ts',
  'cli/src/connection/client-errors.ts: login --recent': 'test/cli/login.test.ts',
  'cli/src/connection/client-errors.ts: project list': here,
  'cli/src/connection/client-errors.ts: serve': here,
  'cli/src/connection/client-errors.ts: whoami': 'test/cli/access.test.ts',
  'cli/src/connection/configuration.ts: login --profile --url': here,
  'cli/src/connection/login.ts: api-key update': 'test/cli/access.test.ts',
  'cli/src/connection/session.ts: api-key create --admin': 'test/e2e/api-key-create.test.ts',
  'cli/src/connection/session.ts: login': here,
  'cli/src/database/backup.ts: check': 'test/cli/broken-databases.test.ts',
  'cli/src/database/backup.ts: doctor': 'test/e2e/log.test.ts',
  'cli/src/database/ledger.ts: log restart': 'test/e2e/log.test.ts',
  'cli/src/database/log-key.ts: log restart': 'test/e2e/log.test.ts',
  'cli/src/follow/options.ts: log key': 'test/e2e/log.test.ts',
  'cli/src/follow/options.ts: project show': 'test/cli/access.test.ts',
  'cli/src/import/read.ts: import': 'test/cli/import.test.ts',
  'cli/src/import/rows.ts: key check': here,
  'cli/src/import/run.ts: project rename': here,
  'cli/src/keys/changes.ts: key-uses verifiers': 'test/cli/key-uses.test.ts',
  'cli/src/keys/files.ts: import': 'test/cli/import-jwks.test.ts',
  'cli/src/keys/find.ts: key list': here,
  'cli/src/keys/keep.ts: access-rule create --self-rotation': 'test/agents/keep/keep.test.ts',
  'cli/src/keys/private-keys.ts: key add --label': here,
  'cli/src/keys/rotate.ts: key add --label': here,
  'cli/src/keys/rotate.ts: key rotate --resume': here,
  'cli/src/keys/rotate.ts: key rotation list': here,
  'cli/src/keys/rotate.ts: key show': here,
  'cli/src/keys/show.ts: key add --label': here,
  'cli/src/program.ts: key add': here,
  'cli/src/program.ts: key list': here,
  'cli/src/program.ts: serve': 'test/e2e/first-start.test.ts',
  'cli/src/server/database-steps.ts: serve': 'test/e2e/first-start.test.ts',
  'cli/src/server/doctor.ts: serve': 'test/e2e/first-start.test.ts',
  'cli/src/server/machine-checks.ts: serve': 'test/e2e/first-start.test.ts',
  'console/src/events/sentences.ts: audit': 'test/e2e/audit.test.ts',
  'console/src/events/verification.tsx: ledger verify': 'test/console/history-proof.test.ts',
  'console/src/events/verification.tsx: ledger verify --file': 'test/console/history-proof.test.ts',
  'console/src/pages/connect/snippets/haproxy.sh.txt: jwks follow --format --out':
    'test/console/snippets.long.test.ts',
  'console/src/pages/connect/snippets/follower.sh.txt: jwks follow --listen':
    'test/console/snippets.long.test.ts',
  'console/src/pages/rotate/page.tsx: key rotate --resume --project': 'test/cli/rotate.test.ts',
  'console/src/pages/status.tsx: backup': 'test/e2e/backup.test.ts',
  'intake/src/commands.ts: apply': 'test/cli/apply.test.ts',
  'intake/src/commands.ts: import': 'test/cli/import.test.ts',
  'server/src/features/api-keys/operations.ts: api-key create': 'test/e2e/api-key-create.test.ts',
  'server/src/features/audit/run.ts: audit': 'test/e2e/audit.test.ts',
  'server/src/features/audit/stored.ts: audit --again': 'test/e2e/audit.test.ts',
  'server/src/features/events/contract.ts: ledger verify': 'test/cli/ledger-verify.test.ts',
  'server/src/features/health/contract.ts: backup': 'test/e2e/backup.test.ts',
  'server/src/features/log/contract.ts: ledger verify': 'test/console/history-proof.test.ts',
  'server/src/features/log/faults.ts: check': 'test/cli/ledger-verify.test.ts',
  'server/src/features/log/faults.ts: log restart': 'test/e2e/log.test.ts',
  'server/src/features/log/http.ts: doctor': 'test/cli/doctor.test.ts',
  'server/src/features/log/signing.ts: serve': 'test/e2e/first-start.test.ts',
  'server/src/features/log/witnesses.ts: log key': 'test/e2e/log.test.ts',
  'server/src/features/sign-in/command-line.ts: login': 'test/cli/login.test.ts',
  'server/src/features/sign-in/contract.ts: login': 'test/cli/login.test.ts',
  'server/src/features/sign-in/http/browser.ts: login': 'test/cli/login.test.ts',
  'server/src/features/sign-in/sessions.ts: serve': 'test/e2e/first-start.test.ts',
  'server/src/first-start.ts: serve': 'test/e2e/first-start.test.ts',
  'server/src/kernel/faults.ts: check': 'test/cli/ledger-verify.test.ts',
  'server/src/kernel/ledger/contradictions.ts: check': 'test/cli/ledger-verify.test.ts',
  'server/src/kernel/storage/errors.ts: check': 'test/cli/broken-databases.test.ts',
  'server/src/kernel/storage/errors.ts: doctor': 'test/cli/doctor-faults.test.ts',
}

test('every command that a file prints is run by a test', () => {
  const program = programFor()
  /** The command in a text, with its options. */
  const templateOf = (text: string) => {
    const names: string[] = []
    let command = program
    for (const word of text.split(/[^\w-]+/)) {
      const next = command.commands.find((each) => each.name() === word)
      if (next === undefined) break
      command = next
      names.push(word)
    }
    return names.length === 0 ? [] : [...names, ...(text.match(/--[a-z-]+/g) ?? [])].join(' ')
  }
  const files = globSync(['packages/*/src/**/*.ts', 'console/src/**/*.{ts,tsx,txt}'], {
    exclude: ['packages/cli/src/commands', 'packages/client/src/types.ts'],
  })
  const found = new Set(
    files.flatMap((file) => {
      // Without comments and values in braces, whose dots end no sentence.
      const code = readFileSync(file, 'utf8').replace(
        /\/\*[\s\S]*?\*\/|^ *\/\/.*|(?<=\bpubring .*)\{[\w.]+\}/gm,
        '',
      )
      const written = [...code.matchAll(/pubring ([a-z][^`"<>;.\n]*)/g)].map(
        ([, text = '']) => text,
      )
      const built = [...code.matchAll(/(?:[cC]ommandLine|keyCommand)\(([^;]*?)\)/g)].map(
        ([, args = '']) => [...args.matchAll(/'([^']*)'/g)].map(([, word]) => word).join(' '),
      )
      const templates = [...written, ...built].flatMap(templateOf)
      return templates.map((template) => `${file.replace('packages/', '')}: ${template}`)
    }),
  )
  expect([...found].sort()).toEqual(Object.keys(testedIn).sort())
  for (const [place, file] of Object.entries(testedIn)) {
    const [, command = ''] = place.split(': ')
    const words = command.replace(/ --.*/, '').split(' ').join("(?:', '| )")
    const test = readFileSync(file, 'utf8')
    // It runs what the page shows.
    if (file.endsWith('/snippets.long.test.ts')) continue
    expect(test, file).toMatch(new RegExp(words))
    for (const option of command.match(/--[a-z-]+/g) ?? []) expect(test, file).toContain(option)
  }
})
