import { describe, expect, test } from 'vitest'
import { tag } from '../../../packages/intake/src/encoding/der.ts'
import {
  encode,
  encodeInteger,
  encodeOid,
} from '../../../packages/intake/src/encoding/der-writer.ts'
import {
  accepted,
  codeOf,
  derOf,
  fixture,
  none,
  pem,
  rsaNumbers,
  spki,
} from '../../support/keys/intake.ts'

const modulus = derOf(fixture('keys/good/rsa2048.pem')).subarray(33, 33 + 256)
const key = rsaNumbers(modulus, Uint8Array.of(1, 0, 1))
const NULL = Uint8Array.of(5, 0)
const sequence = (...contents: Uint8Array[]) => encode(tag.sequence, ...contents)

const oids = {
  sha1: '1.3.14.3.2.26',
  sha224: '2.16.840.1.101.3.4.2.4',
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
  sha512t256: '2.16.840.1.101.3.4.2.6',
  sha3: '2.16.840.1.101.3.4.2.8',
  md5: '1.2.840.113549.2.5',
}
type Hash = keyof typeof oids

const hash = (name: Hash, parameters: Uint8Array = NULL) =>
  sequence(encodeOid(oids[name]), parameters)
const hashField = (name: Hash, parameters?: Uint8Array) => encode(0xa0, hash(name, parameters))
const maskField = (name: Hash, parameters?: Uint8Array, mgf = '1.2.840.113549.1.1.8') =>
  encode(0xa1, sequence(encodeOid(mgf), hash(name, parameters)))
const salt = (...bytes: number[]) => encode(0xa2, encode(tag.integer, Uint8Array.from(bytes)))
const trailer = (value: number) => encode(0xa3, encodeInteger(Uint8Array.of(value)))
const both = (name: Hash, parameters?: Uint8Array) =>
  Buffer.concat([hashField(name, parameters), maskField(name, parameters)])

const withParameters = (parameters: Uint8Array) =>
  pem(spki('1.2.840.113549.1.1.10', parameters, key))
const pss = (...fields: Uint8Array[]) => withParameters(sequence(...fields))

describe('parameters of id-RSASSA-PSS (RFC 4055 section 3.1)', () => {
  test.each([
    ['ok', withParameters(none)],
    ['ok', pss(both('sha256'), salt(32))],
    ['ok', pss(both('sha384'), salt(48))],
    ['ok', pss(both('sha512'), salt(64))],
    ['ok', pss(both('sha256'), salt(0))],
    ['ok', pss(both('sha256'), salt(20))],
    ['ok', pss(both('sha256'))],
    ['ok', pss(both('sha512'), salt(32))],
    ['ok', pss(both('sha256', none), salt(32))],
    ['ok', pss(both('sha256'), salt(32), trailer(1))],
    ['rsa_pss_params_unusable', pss()],
    ['rsa_pss_params_unusable', pss(salt(32))],
    ['rsa_pss_params_unusable', pss(both('sha1'), salt(20))],
    ['rsa_pss_params_unusable', pss(both('sha224'), salt(28))],
    ['rsa_pss_params_unusable', pss(both('sha512t256'), salt(32))],
    ['rsa_pss_params_unusable', pss(both('sha3'), salt(32))],
    ['rsa_pss_params_unusable', pss(both('md5'), salt(16))],
    ['rsa_pss_params_unusable', pss(hashField('sha256'), salt(32))],
    ['rsa_pss_params_unusable', pss(maskField('sha256'), salt(32))],
    ['rsa_pss_params_unusable', pss(hashField('sha256'), maskField('sha384'), salt(32))],
    [
      'rsa_pss_params_unusable',
      pss(hashField('sha256'), maskField('sha256', NULL, '1.3.101.112'), salt(32)),
    ],
    [
      'rsa_pss_params_unusable',
      pss(hashField('sha256', sequence()), maskField('sha256'), salt(32)),
    ],
    ['rsa_pss_params_unusable', pss(both('sha256'), salt(33))],
    ['rsa_pss_params_unusable', pss(both('sha384'), salt(49))],
    ['rsa_pss_params_unusable', pss(both('sha512'), salt(65))],
    ['rsa_pss_params_unusable', pss(both('sha256'), salt(0xff))],
    [
      'rsa_pss_params_unusable',
      pss(both('sha256'), salt(0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)),
    ],
    ['rsa_pss_params_unusable', pss(both('sha256'), salt(32), trailer(2))],
    ['rsa_pss_params_unusable', pss(both('sha256'), salt(32), trailer(0))],
    ['spki_not_der', pss(both('sha256'), salt(0, 32))],
    ['spki_der_invalid', pss(both('sha256'), encode(0xa2))],
    ['spki_der_invalid', pss(both('sha256'), encode(0xa2, NULL))],
    ['spki_trailing_data', pss(both('sha256'), salt(32), trailer(1), encode(0xa4))],
    ['spki_trailing_data', pss(both('sha256'), salt(32), salt(32))],
    ['spki_trailing_data', pss(salt(32), both('sha256'))],
    ['spki_trailing_data', pss(encode(0xa0, hash('sha256'), NULL), maskField('sha256'))],
    ['spki_der_invalid', pss(encode(0xa0), maskField('sha256'))],
    ['spki_params_invalid', withParameters(NULL)],
    ['spki_params_invalid', withParameters(encodeOid(oids.sha256))],
    ['spki_params_invalid', withParameters(Buffer.concat([sequence(both('sha256')), NULL]))],
  ])('%s %#', (code, text) => {
    expect(codeOf(text)).toBe(code)
  })

  test('equal restrictions have one encoding', () => {
    const plain = accepted(pss(both('sha256'), salt(32)))
    for (const text of [
      pss(both('sha256', none), salt(32)),
      pss(both('sha256'), salt(32), trailer(1)),
    ]) {
      const verdict = accepted(text)
      expect(verdict.key).toEqual(plain.key)
      expect(verdict.normalised).toEqual(['pss_parameters'])
    }
    expect(accepted(pss(both('sha256'), salt(20))).key).toEqual(accepted(pss(both('sha256'))).key)
  })

  test('an RSA-PSS key has the thumbprint of the rsaEncryption key and keeps its restriction', () => {
    const restricted = accepted(pss(both('sha384'), salt(48)))
    const plain = accepted(fixture('keys/good/rsa2048.pem'))
    expect(restricted.key.thumbprint).toBe(plain.key.thumbprint)
    expect(restricted.key.materialSha256).toBe(plain.key.materialSha256)
    expect(restricted.key.algorithms).toEqual(['PS384'])
    expect(restricted.jwsAlgorithm).toBe('PS384')
    expect(restricted.key.publicKeyPem).not.toBe(plain.key.publicKeyPem)
  })

  test('the numbers of the key are checked as well', () => {
    const small = rsaNumbers(Uint8Array.of(15), Uint8Array.of(1, 0, 1))
    expect(codeOf(pem(spki('1.2.840.113549.1.1.10', none, small)))).toBe('rsa_modulus_too_small')
  })
})
