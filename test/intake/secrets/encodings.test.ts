import { describe, expect, test } from 'vitest'
import { examineKey } from '../../../packages/intake/src/examine.ts'
import { base64, encodings } from '../../support/keys/encodings.ts'
import {
  accepted,
  codeOf,
  derOf,
  emptyBlocklist,
  fixture,
  pem,
  rejected,
  spki,
} from '../../support/keys/intake.ts'
import {
  expectNoEcho,
  kindNames as names,
  pairOf,
  privateKeyForms,
  publicDerOf,
  publicPemOf,
} from '../../support/keys/key-pairs.ts'

/** Texts that a reader makes of DER; some replace or drop the bytes that are not ASCII. */
const readingsOf = (der: Buffer) => {
  const text = der.toString('latin1')
  const replaced = ['?', ''].map((by) => text.replace(/[\x80-\xff]/g, by))
  return [text, der.toString('utf8'), ...replaced]
}

/** The start of a certificate request for a key on P-256: both of its lengths are not ASCII. */
const smallRequest = Buffer.from('3081f030819902010030123110300e06035504030c07', 'hex')

describe.each(names)('a private key of the kind %s', (name) => {
  for (const { form, der, label } of privateKeyForms(name)) {
    const text = pem(der, label)
    const body = der.toString('base64')
    test.each(Object.keys(encodings))(`${form}, %s`, (encoding) => {
      const encoded = encodings[encoding]?.(text) ?? ''
      const verdict = examineKey(encoded, undefined, emptyBlocklist)
      if (encoded.length > 16_384 && !/PRIVATE/.test(encoded)) return
      expect(verdict.ok ? 'ok' : verdict.faults.map(({ code }) => code)).toEqual([
        'private_key_submitted',
      ])
      expectNoEcho(verdict, encoded, body)
    })

    test(`${form}: the hashes of its public key are derived`, () => {
      const key = accepted(publicPemOf(name)).key
      const expected = { thumbprint: key.thumbprint, materialSha256: key.materialSha256 }
      expect(rejected(text).exposed).toEqual(expected)
      expect(rejected(pem(der)).exposed).toEqual(expected)
      expect(rejected(base64(text)).exposed).toEqual(expected)
      expect(rejected(body).exposed).toEqual(expected)
      expect(rejected(der.toString('hex')).exposed).toEqual(expected)
      expect(rejected(publicPemOf(name) + text).exposed).toEqual(expected)
    })

    test(`${form}, encrypted: rejected, nothing is derived`, () => {
      const encrypted = pairOf(name)
        .privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
        .toString()
      expect(codeOf(encrypted)).toBe('private_key_submitted')
      expect(rejected(encrypted)).not.toHaveProperty('exposed')
      expect(codeOf(encrypted.replaceAll('ENCRYPTED PRIVATE', 'PUBLIC'))).toBe(
        'private_key_submitted',
      )
      expect(codeOf(encrypted.replaceAll(/-----.*-----\n/g, ''))).toBe('private_key_submitted')
    })

    test(`${form}, hidden in the DER of a public key`, () => {
      const after = Buffer.concat([publicDerOf(name), der])
      const inside = spki('1.2.840.113549.1.1.1', Uint8Array.of(5, 0), der)
      for (const hidden of [after, inside]) {
        expect(codeOf(pem(hidden))).toBe('private_key_submitted')
      }
    })
  }

  test('raw DER that was decoded as text is detected', () => {
    for (const { der } of privateKeyForms(name)) {
      expect(readingsOf(der).map((text) => codeOf(text))).toEqual(
        Array(4).fill('private_key_submitted'),
      )
    }
  })
})

test('a public key is never mistaken for a private one', () => {
  for (const name of names) {
    const text = publicPemOf(name)
    for (const form of [
      text,
      base64(text),
      publicDerOf(name).toString('hex'),
      JSON.stringify(text),
    ]) {
      expect(codeOf(form)).not.toBe('private_key_submitted')
    }
  }
  expect(codeOf(fixture('keys/pem/pkcs1-zero-modulus.pem'))).toBe('rsa_modulus_not_positive')
  // The first integer of a request is zero, too.
  const request = derOf(fixture('keys/wrongtype/csr.pem'))
  const pkcs1 = pairOf('RSA-2048').publicKey.export({ type: 'pkcs1', format: 'der' })
  for (const der of [request, smallRequest, pkcs1, ...names.map(publicDerOf)]) {
    expect(readingsOf(der).map((text) => codeOf(text))).not.toContain('private_key_submitted')
  }
})
