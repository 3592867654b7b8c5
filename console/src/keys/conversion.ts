import { readServiceKeys, type ServiceKeys } from '@pubring/intake/key-service'
import { decodeHex, parseJson } from '@pubring/intake/secrets'
import { decodeBase64, type Element, readChildren, readElement, toPem } from './der.ts'
import { readKeyFile } from './file.ts'
import {
  coordinateLengths,
  ecPem,
  isEcCurve,
  isRawAlgorithm,
  memberBytes,
  rawPem,
  rsaPem,
  sshCurves,
} from './spki.ts'
import { isObject } from './tokens.ts'

/**
 * A public key in PEM, extracted from a format that the service does not accept, with the kid that its
 * tokens carry, its version and a name for it, where the format has them.
 */
export type Conversion = {
  from: string
  pem: string
  kid?: string
  version?: string
  label?: string
}

/**
 * The public keys of a certificate, a public JWK or JWKS, an OpenSSH public key, base64, hexadecimal or
 * the assignment of a variable; none if the text is something else or damaged: the service says what it
 * is. It checks the keys; a certificate is not verified. Throws an error for the user if one is cut off.
 */
export function convert(text: string): Conversion[] {
  if (/^\s*[{[]/.test(text)) return convertJson(text)
  if (/^\s*(?:ssh|ecdsa-sha2)-\S+\s/.test(text)) return convertSsh(text)
  const [, body] =
    /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----([\s\S]*?)-----END/.exec(text) ?? []
  if (body !== undefined) return convertCertificate(body.replace(/\\[rn]/g, ''))
  const wrapped = unwrap(text.trim())
  if (wrapped === undefined) return []
  const { from, content } = wrapped
  return content.includes('-----BEGIN PUBLIC KEY-----')
    ? [{ from, pem: content }]
    : convert(content)
}

/** The text inside an assignment such as `export KEY="…"`, hexadecimal or base64. */
function unwrap(text: string): { from: Conversion['from']; content: string } | undefined {
  const [, value] = /^(?:export\s+)?[a-z_]\w*\s*=\s*([^\s=].{40,})$/is.exec(text) ?? []
  if (value !== undefined) {
    const content = value.replace(/^["']|["'];?$/g, '').replaceAll('\\n', '\n')
    return { from: 'variable', content }
  }
  const hex = text.replace(/0x|[\s:,]/gi, '')
  const isHex = /^(?:[0-9a-f]{2}){40,}$/i.test(hex)
  const bytes = isHex ? decodeHex(hex) : decodeBase64(text)
  if (bytes === undefined || bytes.length < 40) return undefined
  try {
    const content = readKeyFile(bytes)
    return { from: isHex ? 'key in hexadecimal' : 'key in base64', content }
  } catch {
    // The service says what else it may be.
    return undefined
  }
}

/** The key and common name of a certificate (RFC 5280 section 4.1); none if it is only a key. */
function convertCertificate(body: string): Conversion[] {
  const bytes = decodeBase64(body)
  const certificate = bytes && readElement(bytes, 0)
  if (certificate === undefined) throw new Error('The certificate is damaged. Copy all of it.')
  const tbs = bytes && certificate && readChildren(bytes, certificate)?.[0]
  const fields = bytes && tbs && readChildren(bytes, tbs)
  // version [0], serial number, signature, issuer, validity, subject, then the key.
  const [subject, key] = fields?.slice(fields[0]?.tag === 0xa0 ? 5 : 4) ?? []
  // The service says what a block with a wrong label contains.
  if (bytes === undefined || subject === undefined || key?.tag !== 0x30) return []
  const label = commonName(bytes, subject)
  const pem = toPem(bytes.subarray(key.start, key.to), 'PUBLIC KEY')
  return [{ from: 'certificate', pem, ...(label && { label }) }]
}

/** The last common name of a distinguished name (RFC 5280 section 4.1.2.4), which is the most specific. */
function commonName(bytes: Uint8Array, name: Element): string | undefined {
  const childrenOf = (parent: Element) => readChildren(bytes, parent) ?? []
  const contentOf = ({ from, to }: Element) => bytes.subarray(from, to)
  const value = childrenOf(name)
    .flatMap(childrenOf)
    .map(childrenOf)
    .findLast(([type]) => type && String(contentOf(type)) === '85,4,3')?.[1]
  const encoding = value?.tag === 0x1e ? 'utf-16be' : 'utf-8'
  return value && new TextDecoder(encoding).decode(contentOf(value)).trim()
}

/** A JWK or the keys of a JWKS that can be used; the service says what to do with other JSON. */
function convertJson(text: string): Conversion[] {
  const value = parseJson(text)
  if (!isObject(value)) return []
  const service = readServiceKeys(value)
  if (service !== undefined) return convertServiceKeys(service)
  const { keys } = value
  return Array.isArray(keys) ? keys.flatMap((key) => convertJwk(Object(key))) : convertJwk(value)
}

/**
 * All versions of a key, or the one that has a kid. None if a version is at fault; the service says why,
 * and takes any other single key as it is.
 */
function convertServiceKeys({ name, keys, fault }: ServiceKeys): Conversion[] {
  if (fault !== undefined || (keys.length === 1 && keys.every((key) => 'pem' in key))) return []
  const from = name.replace(/^a /, '')
  const converted = keys.flatMap((key) =>
    ('pem' in key ? [{ pem: key.pem }] : convertJwk(key.jwk)).map((conversion) => ({
      ...conversion,
      from,
      ...(key.version && { version: key.version }),
    })),
  )
  return converted.length === keys.length ? converted : []
}

function convertJwk(jwk: Record<string, unknown>): Conversion[] {
  const { kid } = jwk
  try {
    const pem = jwkKey(jwk)
    return [{ from: 'JWK', pem, ...(typeof kid === 'string' && kid !== '' && { kid }) }]
  } catch {
    // The service says which member is at fault.
    return []
  }
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
  throw new Error('not a kind of key that Pubring accepts')
}

/** An OpenSSH public key (RFC 4253 section 6.6, RFC 5656, RFC 8709), with its comment. */
function convertSsh(text: string): Conversion[] {
  const [, base64 = '', label] = /^\S+\s+(\S+)[^\S\n]*(.*)/.exec(text.trim()) ?? []
  const blob = decodeBase64(base64)
  const [type = new Uint8Array(), second, third] = blob === undefined ? [] : readStrings(blob)
  const pem = sshPem(new TextDecoder().decode(type), second, third)
  return pem === undefined ? [] : [{ from: 'OpenSSH key', pem, ...(label && { label }) }]
}

function sshPem(name: string, second?: Uint8Array, third?: Uint8Array): string | undefined {
  const curve = new Map(Object.entries(sshCurves)).get(name.replace('ecdsa-sha2-', ''))
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
