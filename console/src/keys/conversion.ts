import { decodeBase64, readChildren, readElement, toPem } from './der.ts'
import {
  coordinateLengths,
  type EcCurve,
  ecPem,
  isEcCurve,
  isRawAlgorithm,
  memberBytes,
  rawPem,
  rsaPem,
} from './spki.ts'

/** A public key in PEM, extracted from a format that the service does not accept. */
export type Conversion = { from: 'certificate' | 'JWK' | 'OpenSSH key'; pem: string }

/**
 * The public key of a certificate, a public JWK or an OpenSSH public key; undefined if the text is
 * none of them. The service checks the key; a certificate is not verified. Throws an error for the
 * user if the text cannot be read.
 */
export function convert(text: string): Conversion | undefined {
  if (/^\s*[{[]/.test(text)) return convertJson(text)
  if (/^\s*(?:ssh|ecdsa-sha2)-\S+\s/.test(text)) return convertSsh(text)
  const [, body] =
    /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----([\s\S]*?)-----END/.exec(text) ?? []
  const pem = body === undefined ? undefined : certificateKey(body.replace(/\\[rn]/g, ''))
  return pem === undefined ? undefined : { from: 'certificate', pem }
}

/** The SubjectPublicKeyInfo of an X.509 certificate (RFC 5280 section 4.1); undefined if that is all. */
function certificateKey(body: string): string | undefined {
  const bytes = decodeBase64(body)
  const certificate = bytes && readElement(bytes, 0)
  const tbs = bytes && certificate && readChildren(bytes, certificate)?.[0]
  const fields = bytes && tbs && readChildren(bytes, tbs)
  // The service says what a block with a wrong label contains.
  if (fields?.[0]?.tag === 0x06) return undefined
  // version [0], serial number, signature, issuer, validity, subject, then the key.
  const key = fields?.[fields[0]?.tag === 0xa0 ? 6 : 5]
  if (bytes === undefined || key?.tag !== 0x30) {
    throw new Error('The certificate is damaged. Copy all of it.')
  }
  return toPem(bytes.subarray(key.start, key.to), 'PUBLIC KEY')
}

/** A JWK or JWKS; the service says what to do with other JSON. */
function convertJson(text: string): Conversion | undefined {
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null) return undefined
  if (!Object.hasOwn(value, 'kty') && !Object.hasOwn(value, 'keys')) return undefined
  return { from: 'JWK', pem: jwkKey(singleKey(value)) }
}

/** The key of a public JWK (RFC 7517, RFC 7518 section 6, RFC 8037, draft-ietf-cose-dilithium). */
function jwkKey({ kty, crv, alg, n, e, x, y, pub }: Record<string, unknown>): string {
  if (kty === 'RSA') return rsaPem(memberBytes(n), memberBytes(e))
  if (kty === 'EC' && isEcCurve(crv)) {
    const length = coordinateLengths[crv]
    return ecPem(crv, Uint8Array.of(4, ...memberBytes(x, length), ...memberBytes(y, length)))
  }
  if (kty === 'OKP' && isRawAlgorithm(crv)) return rawPem(crv, memberBytes(x))
  if (kty === 'AKP' && isRawAlgorithm(alg)) return rawPem(alg, memberBytes(pub))
  throw new Error(
    'This is a JWK of a kind that Pubring does not accept. Use an RSA, EC (P-256, P-384, P-521), Ed25519 or ML-DSA key.',
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error('This looks like a JWK, but is not valid JSON.', { cause })
  }
}

function singleKey(value: object): Record<string, unknown> {
  const { keys } = Object(value)
  if (keys === undefined) return Object(value)
  if (!Array.isArray(keys)) throw new Error('The keys of this JWKS are not an array.')
  if (keys.length !== 1) {
    throw new Error(`This JWKS has ${keys.length} keys. Paste one of them, or use pubring import.`)
  }
  return Object(keys[0])
}

const sshCurves: Record<string, EcCurve> = {
  nistp256: 'P-256',
  nistp384: 'P-384',
  nistp521: 'P-521',
}

/** An OpenSSH public key (RFC 4253 section 6.6, RFC 5656, RFC 8709); the service names other kinds. */
function convertSsh(text: string): Conversion | undefined {
  const blob = decodeBase64(text.trim().split(/\s+/)[1] ?? '')
  const [type = new Uint8Array(), second, third] = blob === undefined ? [] : readStrings(blob)
  const name = new TextDecoder().decode(type)
  const pem = sshPem(name, second, third)
  return pem === undefined ? undefined : { from: 'OpenSSH key', pem }
}

function sshPem(name: string, second?: Uint8Array, third?: Uint8Array): string | undefined {
  const curve = sshCurves[name.replace('ecdsa-sha2-', '')]
  if (name === 'ssh-ed25519' && second !== undefined) return rawPem('Ed25519', second)
  if (second === undefined || third === undefined) return undefined
  // The exponent comes first; for ECDSA, the name of the curve.
  if (name === 'ssh-rsa') return rsaPem(third, second)
  return curve === undefined ? undefined : ecPem(curve, third)
}

/** The strings of an SSH message, each after its length (RFC 4251 section 5). */
function readStrings(bytes: Uint8Array): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const strings: Uint8Array[] = []
  for (let at = 0; at + 4 <= bytes.length; ) {
    const end = at + 4 + view.getUint32(at)
    strings.push(bytes.subarray(at + 4, end))
    at = end
  }
  return strings
}
