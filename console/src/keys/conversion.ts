import { base64Bytes, childrenOf, elementAt, pemOf } from './der.ts'

/** A form that the registry does not take, made into one that it takes. */
export type Conversion = { from: 'certificate' | 'JWK'; pem: string }

/**
 * The public key of a certificate or of a public JWK as PEM; undefined where the text is neither.
 * A certificate proves nothing here: its key alone is taken. Throws a sentence where it cannot be read.
 */
export async function convert(text: string): Promise<Conversion | undefined> {
  const [, body] =
    /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----([\s\S]*?)-----END/.exec(text) ?? []
  if (body !== undefined) return { from: 'certificate', pem: keyOfCertificate(body) }
  if (!text.trimStart().startsWith('{')) return undefined
  return { from: 'JWK', pem: await keyOfJwk(text) }
}

/** The SubjectPublicKeyInfo of an X.509 certificate (RFC 5280 section 4.1). */
function keyOfCertificate(body: string): string {
  const bytes = base64Bytes(body)
  const certificate = bytes && elementAt(bytes, 0)
  const tbs = bytes && certificate && childrenOf(bytes, certificate)?.[0]
  const fields = bytes && tbs && childrenOf(bytes, tbs)
  // version [0], serial number, signature, issuer, validity, subject, then the key.
  const key = fields?.[fields[0]?.tag === 0xa0 ? 6 : 5]
  if (bytes === undefined || key?.tag !== 0x30) {
    throw new Error('The certificate is damaged: copy it again, whole.')
  }
  return pemOf(bytes.subarray(key.start, key.to), 'PUBLIC KEY')
}

const importParameters: Record<string, RsaHashedImportParams | EcKeyImportParams | Algorithm> = {
  RSA: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  'P-256': { name: 'ECDSA', namedCurve: 'P-256' },
  'P-384': { name: 'ECDSA', namedCurve: 'P-384' },
  'P-521': { name: 'ECDSA', namedCurve: 'P-521' },
  Ed25519: { name: 'Ed25519' },
}

/** A public JWK (RFC 7517), or a set of one. */
async function keyOfJwk(text: string): Promise<string> {
  const jwk = onlyKey(parsed(text))
  const parameters = importParameters[jwk.crv ?? jwk.kty ?? '']
  if (parameters === undefined) throw new Error('This kind of JWK cannot be converted here.')
  if (globalThis.crypto.subtle === undefined) {
    throw new Error('A browser converts a JWK on https pages alone: convert it with openssl.')
  }
  const { kty, crv, n, e, x, y } = jwk
  const members = Object.entries({ kty, crv, n, e, x, y }).filter(
    ([, value]) => value !== undefined,
  )
  try {
    const key = await crypto.subtle.importKey(
      'jwk',
      Object.fromEntries(members),
      parameters,
      true,
      ['verify'],
    )
    return pemOf(new Uint8Array(await crypto.subtle.exportKey('spki', key)), 'PUBLIC KEY')
  } catch (cause) {
    throw new Error('The JWK is damaged: a member is missing or does not fit.', { cause })
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error('This looks like a JWK, but it is not whole JSON yet.', { cause })
  }
}

function onlyKey(value: unknown): JsonWebKey {
  if (typeof value !== 'object' || value === null) throw new Error('This is not a JWK.')
  if (!('keys' in value)) return value
  if (!Array.isArray(value.keys) || value.keys.length !== 1) {
    throw new Error(
      'This is a key set of several keys: paste one of its keys, or use pubring import.',
    )
  }
  return onlyKey(value.keys[0])
}
