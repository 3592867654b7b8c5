import { createPrivateKey, createPublicKey } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { beforeEach, describe, expect, test } from 'vitest'
import { fixture } from '../support/keys/intake.ts'
import { ecKey, edKey, privatePem, rsaKey } from '../support/keys/pem.ts'
import { expectWithin } from '../support/timing.ts'
import { documentOf, type Ran, startShell } from './support.ts'

let project: string
let projects = 0

const shell = await startShell({ config: { maxKeysPerProject: 300, maxJwksBytes: 16_777_216 } })
const narrow = await startShell({ config: { maxKeysPerProject: 50 } })

beforeEach(async () => {
  projects += 1
  project = `project-${projects}`
  await shell.test.send('POST', '/v1/projects', { body: { name: project } })
})

const into = (source: string, ...args: string[]) =>
  shell.pubring(['import', source, '--project', project, '--json', ...args])
const keys = async (): Promise<{ id: string; label: string; algorithm: string }[]> =>
  (await shell.test.send('GET', `/v1/projects/${project}/jwt-keys`)).json()
const labels = async () => (await keys()).map(({ label }) => label)
const ecPem = () => ecKey().publicKeyPem
const pems = (count: number) => Array.from({ length: count }, ecPem)

interface Item {
  number: number
  place: string
  label: string
  outcome: string
  errors?: { code: string }[]
}
const itemsOf = (ran: Ran) => Object(documentOf(ran)).items as Item[]
const causes = (ran: Ran) =>
  itemsOf(ran).flatMap(({ number, errors = [] }) => errors.map(({ code }) => `${number} ${code}`))

describe('all or none', () => {
  test('one weak key keeps the other nine out; repeating a corrected import adds only new keys', async () => {
    const blocks = pems(10)
    const bad = blocks.with(5, fixture('keys/rsa/bits-1024.pem'))
    const refused = await into(shell.file('ten.pem', bad.join('\n')))
    expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining('1 of 10 keys') })
    expect(causes(refused)).toEqual(['6 rsa_modulus_too_small'])
    expect(await keys()).toEqual([])
    const file = shell.file('ten.pem', blocks.join('\n'))
    expect(documentOf(await into(file))).toMatchObject({ created: 10, present: 0, refused: 0 })
    const more = shell.file('ten.pem', [...blocks, ecPem()].join('\n'))
    expect(documentOf(await into(more))).toMatchObject({ created: 1, present: 10, refused: 0 })
    expect(await keys()).toHaveLength(11)
  })

  test('--skip-refused imports the others and reports the rejected ones', async () => {
    const bad = [ecPem(), fixture('keys/rsa/bits-1024.pem'), ecPem(), 'x'].join('\n')
    const ran = await into(shell.file('some.pem', bad), '--skip-refused')
    expect(ran.code).toBe(0)
    expect(documentOf(ran)).toMatchObject({ created: 2, refused: 1 })
    expect(causes(ran)).toEqual(['2 rsa_modulus_too_small'])
    expect(await keys()).toHaveLength(2)
  })

  test('--skip-refused sends each key once, also if a later project needs smaller requests', async () => {
    const project = (id: string, name: string, keys: string[]) => {
      return { id, name, keys: keys.map((publicKeyPem) => ({ label: 'k', publicKeyPem })) }
    }
    const projects = [
      project('019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71', 'few', pems(2)),
      project('019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b72', 'many', pems(60)),
    ]
    const text = JSON.stringify({ format: 'pubring-export', version: 1, projects })
    const file = narrow.file('two.json', text)
    const ran = await narrow.pubring(['import', file, '--all', '--skip-refused', '--json'])
    expect(documentOf(ran)).toMatchObject({ created: 52, present: 0, refused: 10 })
    expect(itemsOf(ran).slice(0, 2)).toMatchObject([
      { outcome: 'created', kid: expect.any(String) },
      { outcome: 'created', kid: expect.any(String) },
    ])
  })

  test('a dry run reports the outcome and registers nothing', async () => {
    const file = shell.file('dry.pem', pems(3).join('\n'))
    const ran = await into(file, '--dry-run')
    expect(documentOf(ran)).toMatchObject({ dryRun: true, created: 3 })
    const said = await shell.pubring(['import', file, '--project', project, '--dry-run'])
    expect(said.stderr).toContain('3 would be registered')
    expect(await keys()).toEqual([])
  })

  test('a weak key in the last of several requests keeps all keys out', async () => {
    const blocks = pems(240)
    const weak = [...blocks, fixture('keys/rsa/bits-1024.pem')]
    const ran = await into(shell.file('large.pem', weak.join('\n')))
    expect(causes(ran)).toEqual(['241 rsa_modulus_too_small'])
    expect(documentOf(ran)).toMatchObject({ created: 0, notSent: 240 })
    expect(await keys()).toEqual([])
    const done = await into(shell.file('large.pem', blocks.join('\n')))
    expect(documentOf(done)).toMatchObject({ created: 240, refused: 0 })
  })

  test('keys that fit into each request but not into the project are all rejected', async () => {
    const ran = await into(shell.file('huge.pem', pems(301).join('\n')))
    expect(ran).toMatchObject({
      code: 7,
      stderr: expect.stringContaining(
        'has room for 300 of 301 keys; raise PUBRING_MAX_KEYS_PER_PROJECT.',
      ),
    })
    expect(await keys()).toEqual([])
  })
})

test('a JSON document is searched for a key set, but not each character of its texts', async () => {
  const file = shell.file('long.json', JSON.stringify({ text: 'x'.repeat(8_000_000) }))
  const begin = performance.now()
  const ran = await shell.pubring(['import', file])
  expectWithin(3_000, performance.now() - begin)
  expect(ran).toMatchObject({ code: 66, stderr: expect.stringContaining('holds no keys that can') })
})

test('an interrupted import says how many keys are registered, and the next one goes on', async () => {
  const file = shell.file('long.pem', pems(120).join('\n'))
  let imports = 0
  const controller = new AbortController()
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    const headers = { 'x-api-key': shell.test.admin, 'content-type': 'application/json' }
    const isImport = request.url?.endsWith('key-imports')
    const answer = await fetch(shell.url + request.url, {
      method: `${request.method}`,
      headers,
      ...(body.length > 0 ? { body } : {}),
    })
    const text = await answer.text()
    imports += isImport ? 1 : 0
    // Two dry runs, then an import that is registered but whose response is lost, again and again.
    if (isImport && imports > 2) {
      // The second attempt finds the keys present.
      if (imports > 3) controller.abort()
      return request.socket.destroy()
    }
    response.writeHead(answer.status, { 'content-type': `${answer.headers.get('content-type')}` })
    response.end(text)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${Object(server.address()).port}`
  const args = ['import', file, '--project', project]
  const ran = await shell.pubring([...args, '--url', url], { signal: controller.signal })
  server.closeAllConnections()
  server.close()
  expect(ran.stderr).toContain(
    'Interrupted: 100 of 120 keys are registered. Run the same command again',
  )
  expect(await keys()).toHaveLength(100)
  const again = await shell.pubring([...args, '--json'])
  expect(documentOf(again)).toMatchObject({ created: 20, present: 100 })
})

describe('PEM blocks', () => {
  test('each of 300 commented blocks is a key named by the line before it', async () => {
    const blocks = pems(300).map((pem, index) => `note\n# signer ${index}, =1+1\n${pem}`)
    const ran = await into(shell.file('many.pem', `a list of keys\n\n${blocks.join('\n')}`))
    expect(documentOf(ran)).toMatchObject({ created: 300 })
    const found = await labels()
    expect(found[0]).toBe('signer 0, =1+1')
    expect(found[299]).toBe('signer 299, =1+1')
  })

  test('a private key among the blocks keeps everything from being sent, with any flag', async () => {
    const blocks = pems(20).with(9, privatePem(ecKey()))
    const file = shell.file('private.pem', blocks.join('\n'))
    for (const flags of [[], ['--skip-refused'], ['--dry-run']]) {
      const ran = await into(file, ...flags)
      expect(ran).toMatchObject({ code: 3, stderr: expect.stringContaining('Nothing was sent') })
      expect(causes(ran)).toEqual(['10 private_key_submitted'])
    }
    expect(await keys()).toEqual([])
    const events = (await shell.test.send('GET', `/v1/projects/${project}/events`)).json()
    expect(events).toHaveLength(1)
  })

  test('a block whose line breaks are escaped is a key', async () => {
    const file = shell.file('escaped.pem', ecPem().replaceAll('\n', '\\n'))
    expect(documentOf(await into(file))).toMatchObject({ created: 1, refused: 0 })
  })

  const jwkOf = (pem: string) => createPrivateKey(pem).export({ format: 'jwk' })
  test.each<[string, (pem: string) => object]>([
    ['under another member', (pem) => ({ keys: [], other: pem })],
    [
      'in the same answer',
      (pem) => ({ KeyId: 'a', PublicKey: 'MFkw', PrivateKeyPlaintext: btoa(pem) }),
    ],
    ['as a JWK', (pem) => ({ keys: [], d: jwkOf(pem) })],
    ['under the kid k', (pem) => ({ keys: [], k: { k: { d: pem } } })],
    ['as a JWK without kty', (pem) => ({ keys: [], other: { ...jwkOf(pem), kty: undefined } })],
    ['as RSAParameters', () => ({ keys: [], Key: { Modulus: 'A', D: 'A'.repeat(340) } })],
  ])('a private key beside the keys keeps them from being sent: %s', async (_name, write) => {
    const ran = await into(shell.file('beside.json', JSON.stringify(write(privatePem(ecKey())))))
    expect(ran).toMatchObject({ code: 3, stderr: expect.stringContaining('Nothing was sent') })
    expect(causes(ran).at(-1)).toMatch(/private_key_submitted$/)
  })

  const publicJwk = () => createPublicKey(ecPem()).export({ format: 'jwk' })
  test.each<[string, object]>([
    ['in an OData wrapper', { d: { keys: [publicJwk()] } }],
    ['beside a number p', { p: 1, keys: [publicJwk()] }],
    ['beside a query q', { q: 'orders', data: { keys: [publicJwk()] } }],
    ['with the kid k', { k: ecPem() }],
    ['with the label SYMMETRIC', [{ label: 'SYMMETRIC', publicKeyPem: ecPem() }]],
  ])('a member that a private JWK has, too, is no private key: %s', async (_name, document) => {
    const file = shell.file('named.json', JSON.stringify(document))
    expect(documentOf(await into(file))).toMatchObject({ created: 1, refused: 0 })
  })

  test.each([
    ['a short file', 2],
    ['a file that is not decoded', 120],
  ])('a comment may name a private key: %s', async (_name, count) => {
    const comment = '# Derived (BEGIN EC PRIVATE KEY is in the vault)\n# signer\n'
    const file = shell.file('commented.pem', `${comment}${pems(count).join('\n')}`)
    expect(documentOf(await into(file))).toMatchObject({ created: count, refused: 0 })
  })

  test('a private key behind the block is found; in more than 16,384 characters only by its marker', async () => {
    const secret = privatePem(ecKey())
    const body = secret.replaceAll(/-----.*-----\n/g, '')
    const run = async (count: number, behind: string) =>
      causes(await into(shell.file('behind.pem', pems(count).join('\n') + behind), '--dry-run'))
    expect(await run(1, body)).toEqual(['2 private_key_submitted'])
    expect(await run(120, body)).toEqual([])
    expect(await run(120, `key: ${secret}`)).toEqual(['121 private_key_submitted'])
  })

  test('blocks that were joined without a line break are two keys', async () => {
    const file = shell.file('joined.pem', `${ecPem().trim()}${ecPem().trim()} ${ecPem()}`)
    expect(documentOf(await into(file))).toMatchObject({ created: 3, refused: 0 })
  })

  test('text behind an END line is rejected as such', async () => {
    const ran = await into(shell.file('comma.pem', `${ecPem().trim()},\n`))
    expect(causes(ran)).toEqual(['1 pem_extra_text'])
  })

  test('a duplicate key and a truncated block are rejected with their places', async () => {
    const twice = ecPem()
    const cut = ecPem().split('\n').slice(0, 2).join('\n')
    const ran = await into(shell.file('odd.pem', [twice, ecPem(), twice, cut].join('\n')))
    expect(causes(ran)).toEqual(['3 duplicate_key', '4 pem_incomplete'])
    expect(itemsOf(ran)[2]?.place).toMatch(/odd\.pem, block 3$/)
  })

  test('labels come from the file, algorithms from the key and --algorithm', async () => {
    const file = shell.file('spring.pem', rsaKey().publicKeyPem)
    await into(file, '--algorithm', 'PS256')
    const mixed = [edKey().publicKeyPem, ecPem(), rsaKey().publicKeyPem].join('\n')
    await into(shell.file('mixed.pem', mixed), '--algorithm', 'PS512')
    expect((await keys()).map(({ label, algorithm }) => `${label}: ${algorithm}`)).toEqual([
      'spring: PS256',
      'mixed 1: EdDSA',
      'mixed 2: ES256',
      'mixed 3: PS512',
    ])
  })
})

describe('other sources', () => {
  test('a folder: its key files in order; skipped files are counted', async () => {
    mkdirSync(join(shell.folder, 'keys'), { recursive: true })
    shell.file('keys/b.pem', ecPem())
    shell.file('keys/a.pem', ecPem())
    shell.file('keys/README.md', 'hello')
    shell.file('keys/.hidden.pem', 'hello')
    const folder = join(shell.folder, 'keys')
    const ran = await shell.pubring(['import', folder, '--project', project])
    expect(await labels()).toEqual(['a', 'b'])
    expect(ran.stderr).toContain('with other extensions: 1.')
  })

  test('standard input', async () => {
    const call = ['import', '-', '--project', project]
    const ran = await shell.pubring(call, { input: ecPem() })
    expect(ran).toMatchObject({
      code: 0,
      stderr: '1 registered, 0 already registered, 0 rejected.\n',
    })
    expect(ran.stdout).toMatch(/^1\tcreated\t[0-9a-f-]{36}\tStandard input\tStandard input\t\n$/)
  })

  test.each([
    ['invalid JSON', '{"keys": [', /not valid JSON/],
    ['unrelated JSON', '{"a": 1}', /holds no keys/],
    ['several documents', '{"a": 1}\n{"a": 1}\n', /not valid JSON[\s\S]*jq -s/],
    ['a list of other things', '[{"KeyId": "a"}]', /holds no keys/],
    [
      'a list with another thing',
      '[{"label": "a", "publicKeyPem": "b"}, {"label": "c"}]',
      /key 2 must have a label and a publicKeyPem/,
    ],
    ['the keys of a realm', '{"keys": [{"providerId": "a"}]}', /Keycloak realm/],
  ])('%s is rejected', async (_name, text, message) => {
    const ran = await into(shell.file('odd.txt', text))
    expect(ran).toMatchObject({ code: 66, stdout: '', stderr: expect.stringMatching(message) })
  })

  test('an address is not fetched, and curl is named', async () => {
    const ran = await into('https://login.example.com/jwks?a=1&b=2')
    const fetched = "curl -fsS 'https://login.example.com/jwks?a=1&b=2' | pubring import -"
    expect(ran).toMatchObject({ code: 64, stderr: expect.stringContaining(fetched) })
  })

  test.each(['hello', 'label,publicKey\na,MFkw'])('other text is refused: %j', async (text) => {
    const ran = await into(shell.file('odd.txt', text))
    expect({ code: ran.code, causes: causes(ran) }).toEqual({
      code: 3,
      causes: ['1 pem_not_found'],
    })
  })

  test('a terminal shows only the rejected rows of a long list', async () => {
    const file = shell.file(
      'wide.pem',
      [...pems(120), 'x', fixture('keys/rsa/bits-1024.pem')].join('\n'),
    )
    const call = ['import', file, '--project', project, '--skip-refused']
    const { stdout } = await shell.pubring(call, { columns: 100 })
    const [heading, row, ...cause] = stdout.trimEnd().split('\n')
    expect(heading).toContain('OUTCOME')
    expect(row).toMatch(/^121 .*refused .*/)
    expect(
      cause
        .map((line) => line.slice(0, 2))
        .join('')
        .trim(),
    ).toBe('')
    expect(cause.map((line) => line.trim()).join(' ')).toMatch(/^rsa_modulus_too_small: .*\.pem$/)
  })
})
