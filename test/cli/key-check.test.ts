import { createPublicKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { documentOf, openShell } from './support.ts'

const fixtures = 'test/fixtures'
const material = `${fixtures}/material`
const shell = openShell(() => ({}))

const check = (args: string[], input = '') => shell.pubring(['key', 'check', ...args], { input })

test('accepts a good key and describes it', async () => {
  const { code, stdout } = await check([`${material}/rsa2048.pem`])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^accepted\n.*RSA 2048 bits\n.*RSA RS256.*thumbprint {2}[\w-]{43}\n/s)
  const vanity = await check([`${fixtures}/keys/rsa/vanity-half.pem`])
  expect(vanity).toMatchObject({ code: 0, stdout: expect.stringContaining('a vanity key') })
})

test('reads a key from standard input and prints JSON', async () => {
  const ran = await check(['-', '--json'], readFileSync(`${material}/t_crlf.pem`, 'utf8'))
  expect(documentOf(ran)).toMatchObject({
    accepted: true,
    faults: [],
    normalised: ['line_breaks'],
    key: { kty: 'RSA', bits: 2048 },
    publicKeyPem: readFileSync(`${material}/rsa2048.pem`, 'utf8'),
  })
})

test('says how a JWK would be registered: with its kid, and inactive once it has expired', async () => {
  const pem = readFileSync(`${material}/rsa2048.pem`, 'utf8')
  const jwk = createPublicKey(pem).export({ format: 'jwk' })
  const said = async (members: object) =>
    (await check(['-'], JSON.stringify({ ...jwk, ...members }))).stderr
  expect(await said({ exp: 1_600_000_000 })).toContain(
    'whose exp has passed is registered inactive.',
  )
  expect(await said({ kid: 'orders-2026' })).toContain('--published-kid orders-2026')
  expect(await said({ kid: 'orders 2026' })).toContain('key add gives it another.')
})

test('rejects a weak key with its code and exit code 1', async () => {
  const { code, stdout } = await check([`${material}/rsa1024.pem`])
  expect(code).toBe(1)
  expect(stdout).toMatch(/^rejected\n {2}rsa_modulus_too_small: .*1024.*2048/)
})
