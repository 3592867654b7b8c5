import { type Algorithm, matchingAlgorithms } from '../algorithms.ts'
import { bitLength } from '../arithmetic.ts'
import { commands } from '../commands.ts'
import { base64url, equalBytes, minimalBytes, toSignedBigInt } from '../encoding/bytes.ts'
import { expectElement, expectEnd, expectInteger, readElement, tag } from '../encoding/der.ts'
import { derNull, encode, encodeInteger, encodeSpki } from '../encoding/der-writer.ts'
import { oid } from '../encoding/oids.ts'
import type { Examination, ParsedKey } from '../parsed-key.ts'
import { checkQuickly, checkSlowly, slowCodes } from '../rsa/index.ts'
import { checkModulusForm } from '../rsa/limits.ts'
import { warnOfVanity } from '../rsa/structure.ts'
import { readPss } from './pss.ts'

/** The algorithm identifier of an RSA key: rsaEncryption, or id-RSASSA-PSS with its parameters. */
interface RsaForm {
  oid: string
  parameters: Uint8Array
  algorithms: Algorithm[]
  platformType: string
}

const plainForm: RsaForm = {
  oid: oid.rsaEncryption,
  parameters: derNull,
  algorithms: [...matchingAlgorithms.rsaEncryption],
  platformType: 'rsa',
}

/** Examines an rsaEncryption key; its parameters must be NULL (RFC 3279 section 2.3.1). */
export function examineRsa(parameters: Uint8Array, bytes: Uint8Array): Examination {
  if (equalBytes(parameters, derNull)) return examineNumbers(plainForm, bytes)
  const exportAgain = `Export it again: ${commands.exportPublic}`
  if (parameters.length > 0) {
    const element = readElement(parameters, 'the parameters of the RSA key')
    if (element.tag === tag.null && element.content.length > 0) {
      const detail = `The NULL in the parameters of the RSA key has content. ${exportAgain}`
      return { faults: [{ code: 'spki_der_invalid', detail }] }
    }
  }
  const found = parameters.length === 0 ? 'are missing' : 'are not NULL'
  const detail = `The parameters of the RSA key ${found}. ${exportAgain}`
  return { faults: [{ code: 'spki_params_invalid', detail }] }
}

/** Examines an id-RSASSA-PSS key (RFC 4055 section 1.2), which signs with PS* only. */
export function examineRsaPss(parameters: Uint8Array, bytes: Uint8Array): Examination {
  const pss = readPss(parameters)
  const form: RsaForm = {
    oid: oid.rsassaPss,
    parameters: pss.parameters,
    algorithms: pss.algorithms,
    platformType: 'rsa-pss',
  }
  const numbers = examineNumbers(form, bytes)
  const isRewritten = pss.faults.length === 0 && !equalBytes(pss.parameters, parameters)
  return {
    ...numbers,
    faults: [...pss.faults, ...numbers.faults],
    ...(isRewritten && { repairs: ['pss_parameters'] }),
  }
}

/** Examines a PKCS#1 RSAPublicKey (RFC 8017 A.1.1) and converts it to SPKI. */
export function examinePkcs1(bytes: Uint8Array): Examination {
  return { ...examineNumbers(plainForm, bytes), repairs: ['pkcs1'] }
}

function examineNumbers(form: RsaForm, bytes: Uint8Array): Examination {
  const { n, e } = readRsaPublicKey(bytes)
  if (n <= 0n) return { faults: checkModulusForm(n) }
  const faults = checkQuickly(n, e)
  const slowRules = { codes: slowCodes, check: () => checkSlowly(n) }
  const warning = warnOfVanity(n)
  return {
    ...(e > 0n && { key: parsedRsaKey(n, e, form) }),
    faults,
    slowRules,
    ...(warning && { warnings: [warning] }),
  }
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

/** An RSA key as JWK with the shortest numbers (RFC 7518 section 6.3.1) and as SPKI. */
export function parsedRsaKey(n: bigint, e: bigint, form = plainForm): ParsedKey {
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
