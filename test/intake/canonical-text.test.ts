import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { examineKey } from '../../packages/intake/src/examine.ts'
import { emptyBlocklist } from '../support/keys/intake.ts'

const curves = ['P-256', 'P-384', 'P-521'].map((namedCurve) =>
  generateKeyPairSync('ec', { namedCurve }),
)
const pairs = [...curves, generateKeyPairSync('ed25519')]

test.each(pairs)('the canonical text of a key has the verdict of any other text of it', (pair) => {
  const text = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const canonical = examineKey(text, undefined, emptyBlocklist)
  expect(canonical).toMatchObject({ ok: true, normalised: [] })
  const repaired = examineKey(text.replaceAll('\n', '\r\n'), undefined, emptyBlocklist)
  expect({ ...repaired, normalised: [] }).toEqual(canonical)
})

test.each(pairs)('a private key between the lines of a public one is found', (pair) => {
  const der = pair.privateKey.export({ type: 'pkcs8', format: 'der' })
  const body = der.toString('base64').replace(/.{64}/g, '$&\n').trimEnd()
  const text = `-----BEGIN PUBLIC KEY-----\n${body}\n-----END PUBLIC KEY-----\n`
  expect(examineKey(text, undefined, emptyBlocklist)).toMatchObject({
    faults: [{ code: 'private_key_submitted' }],
  })
})
