import { expect, test } from 'vitest'
import { ecKey, privatePem } from '../support/keys/pem.ts'
import { rememberSecret } from '../support/secrets.ts'
import { openShell, startShell } from './support.ts'

const shell = await startShell({ config: { jwksMaxAge: 0 } })
const folder = shell.folder
const key = ecKey()
shell.file('signer.pem', privatePem(key))
shell.file('signer.public.pem', key.publicKeyPem)
for (const name of ['next', 'other', 'spare']) shell.file(`${name}.pem`, ecKey().publicKeyPem)

/** Each command finds what the earlier ones created. */
const session: readonly (readonly string[])[] = [
  ['project', 'create', 'shop'],
  ['project', 'list'],
  ['project', 'show', 'shop'],
  ['project', 'rename', 'shop', 'store'],
  ['key', 'check', 'signer.public.pem'],
  ['key', 'add', 'signer.public.pem', '--label', 'signer', '--project', 'store'],
  ['key', 'list', '--project', 'store'],
  ['key', 'show', 'signer', '--project', 'store'],
  ['key', 'show', 'signer', '--project', 'store', '--pem'],
  ['key', 'rename', 'signer', 'first', '--project', 'store'],
  ['key', 'expire', 'first', '90d', '--yes', '--project', 'store'],
  ['key', 'expire', 'first', 'never', '--project', 'store'],
  ['jwks', 'show', '--project', 'store'],
  ['token', 'sample', 'signer.pem', '--project', 'store'],
  [
    ...['key', 'rotate', 'next.pem', '--label', 'next', '--project', 'store'],
    ...['--token-lifetime', '1s', '--switched'],
  ],
  ['key', 'rotation', 'list', '--project', 'store'],
  ['key', 'deactivate', 'first', '--yes', '--project', 'store'],
  ['key', 'delete', 'first', '--project', 'store'],
  ['key', 'deactivate', 'next', '--yes', '--project', 'store'],
  ['key', 'activate', 'next', '--project', 'store'],
  ['key', 'deactivate', 'next', '--yes', '--project', 'store'],
  ['key', 'delete', 'next', '--project', 'store'],
  ['events', '--project', 'store'],
  ['events', '--system'],
  ['project', 'delete', 'store'],
  ['api-key', 'create', '--name', 'ci', '--role', 'writer'],
  ['api-key', 'list'],
  ['whoami'],
  ['api-key', 'show', 'ci'],
  ['api-key', 'update', 'ci', '--name', 'pipeline', '--role', 'reader', '--active', 'false'],
  ['api-key', 'delete', 'pipeline'],
  ['access-rule', 'create', '--issuer', 'https://oidc.example.com', '--name', 'ci', '-c', 'sub=ci'],
  ['access-rule', 'list'],
  ['access-rule', 'show', 'ci'],
  ['access-rule', 'update', 'ci', '--role', 'reader'],
  ['access-rule', 'delete', 'ci'],
  ['login', '--profile', 'here'],
  ['logout', '--profile', 'here'],
]

test('every command that calls a server prints one JSON document with --json', async () => {
  for (const args of session) {
    const argv = args.map((arg) => (arg.endsWith('.pem') ? `${folder}/${arg}` : arg))
    const input = args[0] === 'login' ? shell.test.admin : ''
    const { code, stdout, stderr } = await shell.pubring([...argv, '--json'], { input })
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' })
    const document: unknown = JSON.parse(stdout)
    expect(document, args.join(' ')).toBeTypeOf('object')
    if (args[0] === 'token')
      rememberSecret('a token', String(Object(document).token).split('.')[2] ?? '')
    if (args[0] === 'api-key' && args[1] === 'create')
      rememberSecret('an API key', Object(document).apiKey)
  }
})

test('every command that opens the database prints one JSON document with --json', async () => {
  const here = openShell(() => ({}))
  const place = (name: string) => `sqlite:${here.folder}/${name}.db`
  const [first, second] = [place('first'), place('second')]
  const commands = [
    ['migrate', '--database-url', first],
    ['backup', `${here.folder}/backup.db`, '--database-url', first],
    ['check', `${here.folder}/backup.db`],
    ['restore', `${here.folder}/backup.db`, '--database-url', second],
    ['copy', '--from', first, '--to', place('third')],
    ['api-key', 'create', '--admin', '--database-url', first],
    ['ledger', 'verify', '--database-url', first],
    ['audit', '--database-url', first],
  ]

  for (const args of commands) {
    const { code, stdout, stderr } = await here.pubring([...args, '--json'])
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' })
    const document: unknown = JSON.parse(stdout)
    if (args[0] === 'api-key') rememberSecret('an API key', Object(document).apiKey)
  }
  const failed = await here.pubring(['check', `${here.folder}/none.db`, '--json'])
  expect(failed).toMatchObject({ code: 66, stdout: '' })
  expect(JSON.parse(failed.stderr)).toMatchObject({ code: 'file', exitCode: 66 })
})
