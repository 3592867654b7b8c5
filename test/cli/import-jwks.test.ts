import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { freshPair } from '../support/keys/key-pairs.ts'
import { rememberPrivateKey } from '../support/secrets.ts'
import { documentOf, type Ran, startShell } from './support.ts'

let project: string
let projects = 0

const shell = await startShell()

beforeEach(async () => {
  projects += 1
  project = `project-${projects}`
  await shell.test.send('POST', '/v1/projects', { body: { name: project } })
})

type Jwk = Record<string, unknown>
const jwk = (kind: string, more: Jwk = {}): Jwk => ({
  ...freshPair(kind).publicKey.export({ format: 'jwk' }),
  ...more,
})
const setFile = (...keys: unknown[]) => shell.file('set.json', JSON.stringify({ keys }))
const into = (source: string, ...args: string[]) =>
  shell.pubring(['import', source, '--project', project, '--json', ...args])
const verdicts = (ran: Ran) =>
  (Object(documentOf(ran)).items as { label: string; outcome: string; errors?: Jwk[] }[]).map(
    ({ label, outcome, errors = [] }) =>
      [label, outcome, ...errors.map(({ code }) => code)].join(' '),
  )
const published = async () =>
  (await shell.test.inject(`/v1/projects/${project}/.well-known/jwks-full.json`)).json().keys

test('an entry of any type or depth is refused, and none stops the others', async () => {
  const deep = `${'['.repeat(8_000)}{"0": 1}${']'.repeat(8_000)}`
  const odd = '{"toString": 1, "valueOf": 1}'
  const good = JSON.stringify(jwk('P-256', { kid: 'good', exp: 253_402_300_799, key_ops: null }))
  const text = `{"keys": [${deep}, {"kty": "EC", "a": ${deep}}, {"kty": ${odd}}, {"kid": ${odd}}, ${good}]}`
  expect(verdicts(await into(shell.file('set.json', text), '--skip-refused'))).toEqual([
    'set 1 refused unsupported_key',
    'set 2 refused unsupported_key',
    'set 3 refused unsupported_key',
    'set 4 refused unsupported_key',
    'good created',
  ])
  const { stderr } = await into(shell.file('odd.json', `{"a": ${odd}, "b": ${deep}}`))
  expect(stderr).toContain('holds no keys that can be imported')
})

test('each entry has its own verdict', async () => {
  const twin = jwk('P-256', { kid: 'twin' })
  const file = setFile(
    jwk('RSA-2048', { kid: 'signer', use: 'sig', alg: 'PS256' }),
    jwk('RSA-2048', { kid: 'sealer', use: 'enc' }),
    jwk('RSA-2048', { kid: 'wrapper', alg: 'RSA-OAEP' }),
    jwk('RSA-2048', { kid: 'wraps', key_ops: ['wrapKey'] }),
    { kty: 'oct', kid: 'shared', k: 'c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0' },
    jwk('P-256'),
    twin,
    jwk('P-384', { kid: 'twin' }),
    { ...twin, kid: 'copy' },
    { kty: 'XYZ', kid: 'other' },
    { kty: 'AKP', kid: 'odd', alg: 'ML-KEM-768', pub: 'AAAA' },
    jwk('ML-DSA-44', { kid: 'lattice' }),
    { kty: 'EC', kid: 'broken', crv: 'P-256', x: 'AA', y: 'AA' },
    jwk('RSA-2048', { kid: 'zero', e: 'AAAA' }),
    jwk('RSA-2048', { kid: 'odd', n: 'AQ!AB' }),
    jwk('P-256', { kid: 'svid', use: 'jwt-svid' }),
    jwk('P-256', { kid: 'x509', use: 'x509-svid' }),
    // Pubring's placeholder for an empty set is no key.
    jwk('P-256', { kid: 'no-active-key' }),
    'no key',
  )
  const expected = [
    'signer created',
    'sealer refused not_for_signatures',
    'wrapper refused unsupported_algorithm',
    'wraps refused not_for_signatures',
    'shared refused symmetric_key',
    'set 6 created',
    'twin created',
    'twin refused duplicate_kid',
    'copy refused duplicate_key',
    'other refused unsupported_key',
    'odd refused unsupported_algorithm',
    'lattice created',
    'broken refused invalid_jwk',
    'zero refused invalid_jwk',
    'odd refused invalid_jwk',
    'svid created',
    'x509 refused not_for_signatures',
    'set 18 refused unsupported_key',
  ]
  const none = await into(file)
  expect(none.code).toBe(3)
  expect(verdicts(none)).toEqual(expected.map((line) => line.replace('created', 'not_sent')))
  expect(await published()).toEqual([])
  expect(verdicts(await into(file, '--skip-refused'))).toEqual(expected)
  expect((await published()).map(({ alg }: Jwk) => alg)).toEqual([
    'PS256',
    'ES256',
    'ES256',
    'ML-DSA-44',
    'ES256',
  ])
})

test('the files that the API says to import are imported', async () => {
  const imported = async (name: string) =>
    verdicts(await into(join(import.meta.dirname, `../fixtures/formats/${name}`)))
  expect(await imported('n19-jwks.json')).toEqual(['a created', 'b created'])
  // Both certificates of this file have one key.
  expect(await imported('n20-x509-map.json')).toEqual([
    '91fc60858e1c not_sent',
    '5c9aebe23 refused duplicate_key',
  ])
  const certificate = (name: string) => readFileSync(`test/fixtures/${name}.pem`, 'utf8')
  const [one, two] = [certificate('material/cert_valid'), certificate('keys/wrongtype/certificate')]
  const certificates = shell.file('certs.json', JSON.stringify({ one, two }))
  expect(verdicts(await into(certificates))).toEqual(['one created', 'two created'])
  expect((await published()).map(({ kid }: Jwk) => kid)).toEqual(
    expect.arrayContaining(['a', 'b', 'one', 'two']),
  )
  expect(await imported('n24-e-AAAA.jwk.json')).toEqual(['c refused invalid_jwk'])
})

test('a private key in the set keeps everything from being sent', async () => {
  const { privateKey } = freshPair('RSA-2048')
  rememberPrivateKey(privateKey)
  const file = setFile(jwk('P-256', { kid: 'a' }), {
    ...privateKey.export({ format: 'jwk' }),
    kid: 'b',
  })
  const ran = await into(file, '--skip-refused')
  expect(ran).toMatchObject({ code: 3, stderr: expect.stringContaining('Nothing was sent') })
  expect(verdicts(ran)).toEqual(['a not_sent', 'set 2 refused private_key_submitted'])
  expect(await published()).toEqual([])
})

test('padded numbers and wrong leading zeros are normalized (RFC 7518)', async () => {
  const octets = (text: unknown) => Buffer.from(String(text), 'base64url')
  const [padded, zero, classic] = [jwk('RSA-2048'), jwk('RSA-2048'), jwk('P-256')]
  // Half of the numbers of this curve begin with a zero, which some libraries omit.
  let short = jwk('P-521')
  while (octets(short.x)[0] !== 0) short = jwk('P-521')
  const plain = [padded, zero, classic, short]
  const longer = Buffer.concat([Buffer.alloc(1), octets(zero.n)]).toString('base64url')
  const file = setFile(
    { ...padded, kid: 'padded', n: `${padded.n}==`, e: 'AQAB====' },
    { ...zero, kid: 'zero', n: longer },
    { ...classic, kid: 'classic', x: octets(classic.x).toString('base64') },
    { ...short, kid: 'short', x: octets(short.x).subarray(1).toString('base64url') },
  )
  const ran = await into(file)
  expect(verdicts(ran)).toEqual(
    ['padded', 'zero', 'classic', 'short'].map((kid) => `${kid} created`),
  )
  for (const { note } of Object(documentOf(ran)).items)
    expect(note).toContain('numbers were normalized')
  expect(await published()).toMatchObject(plain)
})

test('a kid becomes the published kid if it can be one, for a writer, too', async () => {
  const uuid = crypto.randomUUID()
  const kids = ['arn:aws:kms/1', uuid, 'no good', undefined]
  const file = setFile(...kids.map((kid) => jwk('P-256', { kid })))
  const env = { PUBRING_API_KEY: await shell.test.apiKey('writer') }
  const call = ['import', file, '--project', project, '--json']
  const ran = await shell.pubring(call, { env })
  expect(verdicts(ran)).toEqual([...kids.slice(0, 3), 'set 4'].map((label) => `${label} created`))
  expect(Object(documentOf(ran)).items.map(({ note = '' }) => note)).toEqual([
    '',
    '',
    'Its kid has a character other than A-Z a-z 0-9 - . _ ~ : / + = @ #: it gets another.',
    '',
  ])
  const list = (await shell.test.send('GET', `/v1/projects/${project}/jwt-keys`)).json()
  const ids = list.map(({ id }: Jwk) => id)
  expect((await published()).map(({ kid }: Jwk) => kid)).toEqual([
    'arn:aws:kms/1',
    uuid,
    ...ids.slice(2),
  ])
  expect(ids[1]).not.toBe(uuid)
  expect(verdicts(await shell.pubring(call, { env }))[0]).toBe('arn:aws:kms/1 present')
})

test('a key that is revoked, expired or not valid yet is registered inactive', async () => {
  const now = Math.floor(Date.now() / 1000)
  const file = setFile(
    jwk('P-256', { kid: 'plain', nbf: now - 60 }),
    jwk('P-256', { kid: 'expiring', exp: now + 3_600 }),
    jwk('P-256', { kid: 'expired', exp: now - 1 }),
    jwk('P-256', { kid: 'early', nbf: now + 3_600 }),
    jwk('P-256', { kid: 'revoked', revoked: { revoked_at: now - 60 } }),
  )
  const ran = await into(file)
  expect(ran.code).toBe(0)
  expect(Object(documentOf(ran)).items.map(({ note = '' }) => note)).toEqual([
    '',
    '',
    'A JWK whose exp has passed is registered inactive.',
    'A JWK whose nbf is not reached is registered inactive.',
    'A JWK that is revoked is registered inactive.',
  ])
  const list = (await shell.test.send('GET', `/v1/projects/${project}/jwt-keys`)).json()
  const expireTime = new Date((now + 3_600) * 1000).toISOString()
  expect(list).toMatchObject([
    { label: 'plain', active: true },
    { label: 'expiring', active: true, expireTime },
    { label: 'expired', active: false },
    { label: 'early', active: false },
    { label: 'revoked', active: false },
  ])
})

test('--skip-refused fails if every key is rejected', async () => {
  const file = setFile(jwk('P-256', { use: 'enc' }), jwk('P-256', { use: 'enc' }))
  const ran = await into(file, '--skip-refused')
  expect(ran).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('2 of 2 keys are refused: nothing'),
  })
})
