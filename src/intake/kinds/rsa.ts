import type { Algorithm } from '../../contract/algorithms.ts'
import { fittingAlgorithms } from '../algorithms.ts'
import { bitLength } from '../arithmetic.ts'
import { base64url, equalBytes, minimalBytes, toSignedBigInt } from '../encoding/bytes.ts'
import {
  encode,
  encodeInteger,
  expectElement,
  expectEnd,
  expectInteger,
  readElement,
  tag,
} from '../encoding/der.ts'
import { encodeSpki } from '../encoding/der-writer.ts'
import { oid } from '../encoding/oids.ts'
import { fault } from '../fault.ts'
import type { Examination, ParsedKey } from '../parsed-key.ts'
import { checkRsa } from '../rsa/index.ts'
import { readPss } from './pss.ts'

const NULL = Uint8Array.of(tag.null, 0)

/** How an RSA key is identified: rsaEncryption, or id-RSASSA-PSS with its parameters. */
interface RsaForm {
  oid: string
  parameters: Uint8Array
  algorithms: Algorithm[]
  platformType: string
}

const plainForm: RsaForm = {
  oid: oid.rsaEncryption,
  parameters: NULL,
  algorithms: [...fittingAlgorithms.rsaEncryption],
  platformType: 'rsa',
}

/** Examines an rsaEncryption key, whose parameters are NULL (RFC 3279 section 2.3.1). */
export function examineRsa(parameters: Uint8Array, bytes: Uint8Array): Examination {
  if (equalBytes(parameters, NULL)) return examineNumbers(plainForm, bytes)
  if (parameters.length > 0) {
    const element = readElement(parameters, 'the parameters of the RSA key')
    if (element.tag === tag.null && element.content.length > 0) {
      const detail = 'The NULL in the parameters of the RSA key has content: the key is damaged.'
      return { faults: [fault('spki_der_invalid', detail)] }
    }
  }
  const found = parameters.length === 0 ? 'are missing' : 'are something else'
  const detail = `The parameters of an RSA key must be NULL, but they ${found}. Export it again: openssl pkey -pubin -in key.pem -pubout -out pub.pem`
  return { faults: [fault('spki_params_invalid', detail)] }
}

/** Examines an id-RSASSA-PSS key (RFC 4055 section 1.2), which can sign with PS* only. */
export function examineRsaPss(parameters: Uint8Array, bytes: Uint8Array): Examination {
  const pss = readPss(parameters)
  const form: RsaForm = {
    oid: oid.rsassaPss,
    parameters: pss.parameters,
    algorithms: pss.algorithms,
    platformType: 'rsa-pss',
  }
  const numbers = examineNumbers(form, bytes)
  const rewritten = pss.faults.length === 0 && !equalBytes(pss.parameters, parameters)
  return {
    ...numbers,
    faults: [...pss.faults, ...numbers.faults],
    ...(rewritten && { normalised: ['pss_parameters'] }),
  }
}

/** Examines a PKCS#1 RSAPublicKey (RFC 8017 A.1.1), to be written as SPKI. */
export function examinePkcs1(bytes: Uint8Array): Examination {
  return { ...examineNumbers(plainForm, bytes), normalised: ['pkcs1'] }
}

function examineNumbers(form: RsaForm, bytes: Uint8Array): Examination {
  const { n, e } = readRsaPublicKey(bytes)
  if (n <= 0n) {
    const found = n === 0n ? 'zero' : 'negative'
    const detail = `The modulus is ${found}: the key is damaged. Export it again from the private key: openssl pkey -in private.pem -pubout`
    return { faults: [fault('rsa_modulus_not_positive', detail)] }
  }
  const faults = checkRsa(n, e)
  if (e <= 0n) return { faults }
  return { key: parsedKey(form, n, e), faults }
}

/** Reads RSAPublicKey: two INTEGERs and nothing else. Throws a DerError. */
function readRsaPublicKey(bytes: Uint8Array): { n: bigint; e: bigint } {
  const sequence = expectElement(bytes, tag.sequence, 'the RSA public key')
  expectEnd(sequence.rest, 'the RSA public key')
  const n = expectInteger(sequence.content, 'the modulus')
  const e = expectInteger(n.rest, 'the exponent')
  expectEnd(e.rest, 'the exponent')
  return { n: toSignedBigInt(n.content), e: toSignedBigInt(e.content) }
}

/** The forms of an rsaEncryption key: JWK with minimal numbers (RFC 7518 6.3.1) and SPKI. */
export function parsedRsaKey(n: bigint, e: bigint): ParsedKey {
  return parsedKey(plainForm, n, e)
}

function parsedKey(form: RsaForm, n: bigint, e: bigint): ParsedKey {
  const [modulus, exponent] = [minimalBytes(n), minimalBytes(e)]
  const numbers = encode(tag.sequence, encodeInteger(modulus), encodeInteger(exponent))
  const bits = bitLength(n)
  return {
    name: form.platformType === 'rsa-pss' ? `RSA-PSS ${bits}-bit` : `RSA ${bits}-bit`,
    jwk: { kty: 'RSA', n: base64url(modulus), e: base64url(exponent) },
    bits,
    spki: encodeSpki(form.oid, form.parameters, numbers),
    material: modulus,
    algorithms: form.algorithms,
    platformType: form.platformType,
  }
}
