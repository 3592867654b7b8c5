import { constants, createPublicKey, hash, type KeyObject, verify } from 'node:crypto'
import type { PublicJwk } from '@pubring/intake'
import type { JwsAlgorithm } from '@pubring/intake/algorithms'
import type { DecodedToken } from './decode.ts'
import { type Finding, failed, passed } from './findings.ts'

/** A key that verifies a signature. */
interface VerificationKey {
  jwk: PublicJwk
  jwsAlgorithm: JwsAlgorithm
  bits?: number
}

/** Loaded when the first token is checked. */
const jose = () => import('jose')

/** Whether the key verifies the token with its registered algorithm. */
export async function verifies({ text }: DecodedToken, key: VerificationKey): Promise<boolean> {
  const { jwk, jwsAlgorithm } = key
  const { importJWK } = await jose()
  return isSignedBy(text, await importJWK({ ...jwk }, jwsAlgorithm), jwsAlgorithm)
}

/** Whether the public key verifies the signature of the token with this algorithm. */
export async function isSignedBy(
  text: string,
  publicKey: KeyObject | CryptoKey | Uint8Array,
  algorithm: string,
): Promise<boolean> {
  const { compactVerify, errors } = await jose()
  try {
    await compactVerify(text, publicKey, { algorithms: [algorithm] })
    return true
  } catch (error) {
    if (error instanceof errors.JOSEError) return false
    throw error
  }
}

export async function checkSignature(token: DecodedToken, key: VerificationKey): Promise<Finding> {
  if (await verifies(token, key)) return passed('The signature is valid.')
  return failed(
    encodingFault(token, key) ??
      otherFit(token, key) ??
      'The signature does not match the token and this key. Another private key signed the token, or it was altered.',
  )
}

const hashes = ['sha256', 'sha384', 'sha512']

/** How the signature fits after all: by another padding or hash, or for another form of the token. */
function otherFit(
  { text, signature }: DecodedToken,
  { jwk, jwsAlgorithm }: VerificationKey,
): string | undefined {
  if (jwk.kty === 'AKP') return undefined
  const key = createPublicKey({ key: { ...jwk }, format: 'jwk' })
  const input = Buffer.from(text.slice(0, text.lastIndexOf('.')))
  const { RSA_PKCS1_PADDING, RSA_PKCS1_PSS_PADDING } = constants
  const ways =
    key.asymmetricKeyType === 'rsa'
      ? [
          { prefix: 'RS', padding: RSA_PKCS1_PADDING },
          { prefix: 'PS', padding: RSA_PKCS1_PSS_PADDING },
        ]
      : [{ prefix: 'ES', dsaEncoding: 'ieee-p1363' } as const]
  const isEdwards = jwk.kty === 'OKP'
  for (const { prefix, ...way } of ways) {
    for (const name of hashes) {
      const fits = (data: Buffer | string) =>
        verify(isEdwards ? null : name, Buffer.from(data), { key, ...way }, signature)
      const bits = name.slice(3)
      if (!isEdwards && fits(input))
        return `The signature is valid ${misfit(prefix, bits, jwsAlgorithm)}`
      if (fits(`${input}\n`)) {
        return 'The signature is valid for the token with a line break behind it, as echo writes it. Have the signer sign the text alone: printf or echo -n.'
      }
      const digest = hash(name, input, 'hex')
      if (fits(Buffer.from(digest, 'hex')) || fits(digest)) {
        return `The signature is valid for the SHA-${bits} digest of the token: the signer hashes it before it signs, which hashes it once more. Have it sign the text itself.`
      }
    }
  }
  return undefined
}

/** Says how a signature that fits with this padding and hash differs from one of the algorithm. */
function misfit(prefix: string, bits: string, jwsAlgorithm: JwsAlgorithm): string {
  // Verification here takes a salt of any length, but that of JWTs has the length of the hash.
  if (`${prefix}${bits}` === jwsAlgorithm) {
    return `but for its salt, which must have ${Number(bits) / 8} bytes (RFC 7518 section 3.5). Set the salt length of the signer to that of the digest.`
  }
  const other = prefix === 'ES' ? `ECDSA with SHA-${bits}` : `${prefix}${bits}`
  return `as ${other}, which is not ${jwsAlgorithm}. Have the signer use the algorithm that the key is registered for.`
}

/**
 * Bytes of a signature, except for RSA: RFC 7518 section 3.4 (R and S at the length of the curve), RFC
 * 8032 section 5.1.6, FIPS 204 table 2.
 */
const lengths: Partial<Record<JwsAlgorithm, number>> = {
  ES256: 64,
  ES384: 96,
  ES512: 132,
  EdDSA: 64,
  Ed25519: 64,
  'ML-DSA-44': 2_420,
  'ML-DSA-65': 3_309,
  'ML-DSA-87': 4_627,
}

/** Leading zero bytes that an encoder may have dropped: more are too unlikely. */
const maxDroppedBytes = 3

/** The fault of a signature of another length than the key's. */
function encodingFault(token: DecodedToken, { bits = 0, jwsAlgorithm }: VerificationKey) {
  const { text, signature } = token
  // RFC 8017 section 8.1.1: as long as the modulus.
  const length = lengths[jwsAlgorithm] ?? Math.ceil(bits / 8)
  if (signature.length === length) return undefined
  const isEcdsa = jwsAlgorithm.startsWith('ES')
  const needed = isEcdsa
    ? `${jwsAlgorithm} needs R and S with ${length / 2} bytes each, ${length} in total (RFC 7518 section 3.4)`
    : `${jwsAlgorithm} with this key needs ${length} bytes`
  // A SEQUENCE, with a length of one or two bytes, that starts with an INTEGER.
  if (isEcdsa && signature[0] === 0x30 && signature.subarray(2, 4).includes(0x02)) {
    return `The signature is in DER; ${needed}; in node:crypto: dsaEncoding 'ieee-p1363'.`
  }
  const encoding = encodingOf(text.slice(text.lastIndexOf('.') + 1), signature, length)
  if (encoding !== undefined) {
    return `The signature is in ${encoding}; ${needed}, directly in base64url.`
  }
  const missing = length - signature.length
  if (missing > 0 && missing <= maxDroppedBytes) {
    return `The signature has ${signature.length} bytes; ${needed}. Keep leading zero bytes.`
  }
  return `The signature has ${signature.length} bytes; ${needed}. Was the token truncated, or signed with another key?`
}

/** The encoding in which the part, or the text in it, holds a signature of the right length. */
function encodingOf(part: string, decoded: Uint8Array, length: number): string | undefined {
  if (isHex(part, length)) return 'hexadecimal'
  const inner = Buffer.from(decoded).toString('latin1')
  if (isHex(inner, length)) return 'hexadecimal and then in base64url'
  const isBase64 = /^[A-Za-z0-9+/_-]+={0,2}$/.test(inner)
  if (isBase64 && Buffer.from(inner, 'base64').length === length) return 'base64 twice'
  return undefined
}

function isHex(text: string, length: number): boolean {
  return text.length === 2 * length && /^[0-9a-f]+$/i.test(text)
}
