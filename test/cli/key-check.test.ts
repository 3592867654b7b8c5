import { createPublicKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openShell } from './support.ts'

const material = 'test/fixtures/material'
const shell = openShell(() => ({}))

const check = (args: string[], input = '') => shell.pubring(['key', 'check', ...args], { input })

test('accepts a good key and describes it', async () => {
  const { code, stdout } = await check([`${material}/rsa2048.pem`])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^accepted\n.*RSA 2048 bits\n.*RSA RS256.*thumbprint {2}[\w-]{43}\n/s)
})

test('reads a key from standard input and prints JSON', async () => {
  const pem = readFileSync(`${material}/t_crlf.pem`, 'utf8')
  const { code, stdout } = await check(['-', '--json'], pem)
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    accepted: true,
    faults: [],
    normalised: ['line_breaks'],
    key: { kty: 'RSA', bits: 2048 },
    publicKeyPem: readFileSync(`${material}/rsa2048.pem`, 'utf8'),
  })
})

test('says how a JWK would be registered, and registers nothing', async () => {
  const pem = readFileSync(`${material}/rsa2048.pem`, 'utf8')
  const jwk = { ...createPublicKey(pem).export({ format: 'jwk' }), exp: 1_600_000_000 }
  const { code, stderr } = await check(['-'], JSON.stringify(jwk))
  expect(code).toBe(0)
  expect(stderr).toContain('converted to PEM. A JWK whose exp has passed is registered inactive.')
})

test('says that the kid of a JWK is kept, and how', async () => {
  const pem = readFileSync(`${material}/rsa2048.pem`, 'utf8')
  const jwk = createPublicKey(pem).export({ format: 'jwk' })
  const kept = await check(['-'], JSON.stringify({ ...jwk, kid: 'orders-2026' }))
  expect(kept).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('--published-kid orders-2026'),
  })
  const other = await check(['-'], JSON.stringify({ ...jwk, kid: 'orders 2026' }))
  expect(other.stderr).toContain('key add gives it another.')
})

test('rejects a weak key with its code and exit code 1', async () => {
  const { code, stdout } = await check([`${material}/rsa1024.pem`])
  expect(code).toBe(1)
  expect(stdout).toMatch(/^rejected\n {2}rsa_modulus_too_small: .*1024.*2048/)
})

test('rejects a private key and prints nothing of it', async () => {
  const file = `${material}/private_pkcs8.pem`
  const { code, stdout, stderr } = await check([file])
  expect(code).toBe(1)
  expect(stdout).toContain('it has not left this machine')
  expect(stdout).not.toContain('compromised')
  const [, body = ''] = readFileSync(file, 'utf8').split('\n')
  expect(stdout + stderr).not.toContain(body.slice(0, 24))
})

test.each([
  ['a missing file', ['none.pem'], /no file none\.pem/],
  ['a folder', [material], /is a folder/],
  ['an unknown algorithm', ['-', '--algorithm', 'RS265'], /did you mean RS256\?/],
])('reports %s in one line on stderr, without a stack', async (_name, args, message) => {
  const { code, stdout, stderr } = await check(args)
  expect(code).not.toBe(0)
  expect(stdout).toBe('')
  expect(stderr.trim().split('\n')).toHaveLength(1)
  expect(stderr).toMatch(message)
})
