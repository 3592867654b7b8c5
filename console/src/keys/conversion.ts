import { decodeBase64, readChildren, readElement, toPem } from './der.ts'

/** A public key in PEM, extracted from a format that the service does not accept. */
export type Conversion = { from: 'certificate' | 'JWK'; pem: string }

/**
 * The public key of a certificate or public JWK; undefined if the text is neither. A certificate is
 * not verified, only its key is used. Throws an error for the user if it cannot be read.
 */
export async function convert(text: string): Promise<Conversion | undefined> {
  if (/^\s*[{[]/.test(text)) return convertJson(text)
  const [, body] =
    /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----([\s\S]*?)-----END/.exec(text) ?? []
  const pem = body === undefined ? undefined : certificateKey(body.replace(/\\[rn]/g, ''))
  return pem === undefined ? undefined : { from: 'certificate', pem }
}

/** A JWK or JWKS; the service says what to do with other JSON. */
async function convertJson(text: string): Promise<Conversion | undefined> {
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null) return undefined
  if (!Object.hasOwn(value, 'kty') && !Object.hasOwn(value, 'keys')) return undefined
  return { from: 'JWK', pem: await jwkKey(value) }
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

const importParameters: Record<string, RsaHashedImportParams | EcKeyImportParams | Algorithm> = {
  RSA: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  'P-256': { name: 'ECDSA', namedCurve: 'P-256' },
  'P-384': { name: 'ECDSA', namedCurve: 'P-384' },
  'P-521': { name: 'ECDSA', namedCurve: 'P-521' },
  Ed25519: { name: 'Ed25519' },
}

/** The key of a public JWK (RFC 7517), or of a JWKS with one key. */
async function jwkKey(value: object): Promise<string> {
  const jwk = singleKey(value)
  const parameters = importParameters[jwk.crv ?? jwk.kty ?? '']
  if (parameters === undefined)
    throw new Error('This kind of JWK cannot be converted here. Use pubring key add.')
  if (globalThis.crypto.subtle === undefined) {
    throw new Error('Browsers convert JWKs only on https pages. Use pubring key add.')
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
    return toPem(new Uint8Array(await crypto.subtle.exportKey('spki', key)), 'PUBLIC KEY')
  } catch (cause) {
    throw new Error('The JWK is damaged: a member is missing or invalid.', { cause })
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error('This looks like a JWK, but is not valid JSON.', { cause })
  }
}

function singleKey(value: unknown): JsonWebKey {
  if (typeof value !== 'object' || value === null) throw new Error('This is not a JWK.')
  if (!('keys' in value)) return value
  if (!Array.isArray(value.keys)) throw new Error('The keys of this JWKS are not an array.')
  if (value.keys.length !== 1) {
    throw new Error(
      `This JWKS has ${value.keys.length} keys. Paste one of them, or use pubring import.`,
    )
  }
  return singleKey(value.keys[0])
}
