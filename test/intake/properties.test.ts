import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { intakeCodes } from '../../packages/intake/src/codes.ts'
import type { Verdict } from '../../packages/intake/src/types.ts'
import { derOf, examine, fixture, pem } from '../support/keys/intake.ts'

const goodFiles = [
  'good/ec-p256.pem',
  'good/ec-p384.pem',
  'good/ec-p521.pem',
  'good/ed25519.pem',
  'good/ml-dsa-44.pem',
  'good/rsa2048.pem',
  'good/rsa-pss-sha256.pem',
]
const goodTexts = goodFiles.map((file) => fixture(`keys/${file}`))
const small = goodTexts.slice(0, 4)

/** Requires a known code, or a key that Node reads in the same way. */
function expectSound(verdict: Verdict): void {
  if (!verdict.ok) {
    for (const { code } of verdict.faults) expect(intakeCodes).toHaveProperty(code)
    return
  }
  const { publicKeyPem, jwk } = verdict.key
  const platform = createPublicKey({ key: derOf(publicKeyPem), format: 'der', type: 'spki' })
  expect(platform.export({ type: 'spki', format: 'der' })).toEqual(derOf(publicKeyPem))
  if (platform.asymmetricKeyType !== 'rsa-pss') {
    expect(platform.export({ format: 'jwk' })).toEqual(jwk)
  }
  const again = examine(publicKeyPem)
  expect(again).toMatchObject({ ok: true, key: verdict.key, normalised: [] })
}

/** Inserts, replaces or removes some bytes. */
function mutate(source: Buffer, edits: readonly [number, number, number][]): Buffer {
  let bytes = source
  for (const [kind, place, value] of edits) {
    const at = place % (bytes.length + 1)
    const rest = bytes.subarray(kind === 0 ? at : at + 1)
    const middle = kind === 2 ? Buffer.alloc(0) : Buffer.of(value)
    bytes = Buffer.concat([bytes.subarray(0, at), middle, rest])
  }
  return bytes
}

const edits = fc.array(fc.tuple(fc.nat({ max: 2 }), fc.nat({ max: 5000 }), fc.nat({ max: 255 })), {
  minLength: 1,
  maxLength: 4,
})

describe('any input is rejected with a code or accepted as the key that Node reads', () => {
  test('mutated DER of short keys', () => {
    const run = fc.property(fc.constantFrom(...small), edits, (text, changes) => {
      expectSound(examine(pem(mutate(derOf(text), changes))))
    })
    fc.assert(run, { numRuns: 1500 })
  })

  test('mutated DER of every key type', () => {
    const run = fc.property(fc.constantFrom(...goodTexts), edits, (text, changes) => {
      expectSound(examine(pem(mutate(derOf(text), changes))))
    })
    fc.assert(run, { numRuns: 200 })
  })

  test('mutated text', () => {
    const run = fc.property(fc.constantFrom(...goodTexts), edits, (text, changes) => {
      expectSound(examine(mutate(Buffer.from(text), changes).toString('latin1')))
    })
    fc.assert(run, { numRuns: 400 })
  })

  test('any bytes under any label', () => {
    const label = fc.constantFrom('PUBLIC KEY', 'RSA PUBLIC KEY', 'CERTIFICATE')
    const run = fc.property(fc.uint8Array({ maxLength: 200 }), label, (bytes, name) => {
      expectSound(examine(pem(bytes, name)))
    })
    fc.assert(run, { numRuns: 1000 })
  })

  test('any text', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 400 }),
      fc.string({ unit: 'grapheme', maxLength: 200 }),
      fc.json(),
      fc.base64String({ maxLength: 400 }),
      fc.stringMatching(/^[-BEGINPUBLICKEYRSA \n{}"\\%&;<>]{0,200}$/),
    )
    fc.assert(
      fc.property(text, (each) => expectSound(examine(each))),
      { numRuns: 1500 },
    )
  })

  test('random 32 bytes as Ed25519', () => {
    const header = derOf(fixture('keys/good/ed25519.pem')).subarray(0, 12)
    const run = fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      expectSound(examine(pem(Buffer.concat([header, bytes]))))
    })
    fc.assert(run, { numRuns: 200 })
  })
})

describe('a mutated private key is never accepted', () => {
  const secrets = [
    generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
    generateKeyPairSync('ed25519').privateKey,
  ]
  const texts = secrets.map((key) => key.export({ type: 'pkcs8', format: 'pem' }).toString())

  test('and nothing of it is quoted', () => {
    const encode = fc.constantFrom(
      (text: string) => text,
      (text: string) => JSON.stringify(text),
      (text: string) => Buffer.from(text).toString('base64'),
      (text: string) => encodeURIComponent(text),
      (text: string) => text.replaceAll('PRIVATE KEY', 'PUBLIC KEY'),
    )
    const run = fc.property(fc.constantFrom(...texts), encode, edits, (text, encoded, changes) => {
      const sent = encoded(mutate(Buffer.from(text), changes.slice(0, 1)).toString('latin1'))
      const verdict = examine(sent)
      expect(verdict.ok).toBe(false)
      const output = JSON.stringify(verdict)
      for (let at = 0; at + 24 <= sent.length; at += 1) {
        expect(output.includes(sent.slice(at, at + 24))).toBe(false)
      }
    })
    fc.assert(run, { numRuns: 400 })
  })

  test('it is detected in any nesting of encodings', () => {
    const layer = fc.constantFrom(
      (text: string) => JSON.stringify(text),
      (text: string) => JSON.stringify({ key: text }),
      (text: string) => Buffer.from(text).toString('base64'),
      (text: string) => Buffer.from(text).toString('hex'),
      (text: string) => encodeURIComponent(text),
      (text: string) => text.replaceAll('\n', '\\n'),
      (text: string) => `\uFEFF  ${text}\n`,
    )
    const short = texts.slice(1)
    const layers = fc.array(layer, { maxLength: 3 })
    const run = fc.property(fc.constantFrom(...short), layers, (text, encoders) => {
      const sent = encoders.reduce((inner, apply) => apply(inner), text)
      const verdict = examine(sent)
      expect(verdict.ok ? 'ok' : verdict.faults[0].code).toBe('private_key_submitted')
    })
    fc.assert(run, { numRuns: 300 })
  })
})

test('the derived public key of a private key is the one that Node derives', () => {
  const run = fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (seed) => {
    const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
    const verdict = examine(pem(der, 'PRIVATE KEY'))
    const own = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
    const known = examine(own.export({ type: 'spki', format: 'pem' }).toString())
    expect(verdict.ok ? undefined : verdict.exposed?.thumbprint).toBe(known.key?.thumbprint)
  })
  fc.assert(run, { numRuns: 20 })
})
