import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { tag } from '../../packages/intake/src/encoding/der.ts'
import { encode } from '../../packages/intake/src/encoding/der-writer.ts'
import { fixture, none, pem } from '../support/keys/intake.ts'
import { readJson, startServer, temporaryFolder } from '../support/server/process.ts'
import { expectWithin } from '../support/timing.ts'

const { folder } = temporaryFolder()

const server = await startServer(folder)

function nested(depth: number): Uint8Array {
  let inner: Uint8Array = none
  for (let level = 0; level < depth; level += 1) inner = encode(tag.sequence, inner)
  return inner
}

const repeated = (text: string, length: number) => text.repeat(Math.floor(length / text.length))

const tooLong = (length: number) => ({
  'much base64': repeated('A', length),
  'many BEGIN lines': repeated('-----BEGIN PUBLIC KEY-----', length),
  'many blanks': repeated(' ', length),
  'a large PUBLIC KEY block': pem(new Uint8Array(length / 2)),
})

/** Each of these has frozen or crashed services; the tests of the intake have more of them. */
const hostile: Record<string, [code: string, text: string]> = {
  'a public key that asks for a pass phrase': [
    'pem_headers_unsupported',
    fixture('keys/pem/proc-type-header.pem'),
  ],
  'an encrypted private key': [
    'private_key_submitted',
    fixture('material/private_pkcs8_encrypted.pem'),
  ],
  'explicit curve parameters': [
    'ec_explicit_parameters',
    fixture('keys/ec/p256-explicit-generator-is-key.pem'),
  ],
  'a modulus of 65,536 bits': ['rsa_modulus_too_large', fixture('keys/rsa/bits-65536.pem')],
  'a length of 2^64 - 1': [
    'spki_der_invalid',
    pem(Uint8Array.of(0x30, 0x88, ...new Uint8Array(8).fill(0xff))),
  ],
  'DER that is 3,000 deep': ['spki_der_invalid', pem(nested(3_000))],
  'JSON that is 2,000 deep': ['jwk_submitted', `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`],
  'NUL and what follows it': ['key_encoding_invalid', fixture('keys/pem/nul-after.pem')],
}

for (const [name, text] of Object.entries(tooLong(60_000))) hostile[name] = ['key_too_large', text]

function post(path: string, body: object): Promise<Response> {
  return fetch(`${server.url}/v1${path}`, {
    method: 'POST',
    headers: { 'X-Api-Key': server.apiKey, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
}

async function codeOf(text: string): Promise<string | undefined> {
  const response = await post('/key-checks', { publicKeyPem: text })
  expect(response.status).toBe(200)
  const report = await readJson<{ faults: { code: string }[] }>(response)
  return report.faults[0]?.code
}

/** Does the work while another client polls the health page; returns its slowest response in ms. */
async function whileHealthy(work: () => Promise<void>): Promise<number> {
  let working = true
  const watch = async () => {
    let slowest = 0
    while (working) {
      const start = performance.now()
      expect((await fetch(`${server.url}/health/live`)).status).toBe(200)
      slowest = Math.max(slowest, performance.now() - start)
      await delay(2)
    }
    return slowest
  }
  const done = work().finally(() => {
    working = false
  })
  const [slowest] = await Promise.all([watch(), done])
  return slowest
}

/** Far more than any of them may take. */
const limitMs = 2_000

describe('no key stops, blocks or ends the process', () => {
  test.each(Object.entries(tooLong(1_000_000)))(
    'an import with a MiB of %s',
    async (_name, text) => {
      const slowest = await whileHealthy(async () => {
        const keys = [{ name: 'n', algorithm: 'RSA', publicKeyPem: text }]
        const answer = await readJson(await post('/projects/default/key-imports', { keys }))
        expect(answer).toMatchObject({ errors: [{ code: 'key_too_large' }] })
      })
      expectWithin(limitMs, slowest)
    },
  )

  test('all of them at once, as often as the share of one API key allows', async () => {
    const all = Object.entries(hostile)
    const asked = [all, all, all].flat()
    const slowest = await whileHealthy(async () => {
      const found = await Promise.all(
        asked.map(async ([name, [, text]]) => `${name}: ${await codeOf(text)}`),
      )
      expect(found).toEqual(asked.map(([name, [code]]) => `${name}: ${code}`))
    })
    expectWithin(limitMs, slowest)
  })

  test('the same process is still running and exits normally', async () => {
    expect(await codeOf(fixture('keys/good/rsa4096.pem'))).toBeUndefined()
    expect(server.output()).not.toMatch(/pass ?phrase|"level":[56]0/i)
    server.signal('SIGTERM')
    expect(await server.ended).toBe(0)
  })
})
