import { decodeBase64, decodeHex, encodeLatin1 } from './bytes.ts'
import { decodingsOf, sequencesIn } from './decodings.ts'
import { hasMarker, hasPlainMarker, readJson } from './markers.ts'
import { isCertificateStore, isComplete, isPrivateKeyAt, startsWith } from './shapes.ts'

/** A private or symmetric key that was found, in the form from which its public key is derived. */
export type Secret =
  | { kind: 'asn1'; bytes: Uint8Array }
  | { kind: 'jwk'; members: Record<string, unknown> }
  | { kind: 'openssh'; bytes: Uint8Array }

/** The secrets of a text; none if it is only marked as private, such as an encrypted key. */
export interface SecretFinding {
  secrets: Secret[]
}

/** `openssh-key-v1` and NUL (OpenSSH PROTOCOL.key). */
const opensshMagic = encodeLatin1('openssh-key-v1\0')
/** First bytes of PRIVATEKEYBLOB, PVK, a Java key store, and of RSA and ECDSA CNG blobs. */
const magics = '0702000000 1ef1b5b0 feedfeed 52534132 52534133 45435332 45435334'
  .split(' ')
  .map(decodeHex)
const [zero, one, integer, octets, identifier] = ['\0', '\x01', '\x02', '\x04', '\x06']
/**
 * Private DER that was decoded as text, which may replace or drop any byte that is not ASCII: behind the
 * length, its version, then the key (SEC 1), the modulus (PKCS#1), or the algorithm (PKCS#8), whose first
 * member is an identifier, unlike that of the subject of a certificate request.
 */
const damagedDer = new RegExp(
  `^0.{0,3}${integer}${one}(?:${one}${octets}|[${zero}${one}](?:${integer}.{0,4}${zero}|0.{1,3}${identifier}))`,
  's',
)
/** Bytes that a structure inside other data must have: shorter ones occur by chance. */
const minHiddenLength = 32
/** Characters of base64 that show what a structure is. */
const maxSequenceHead = 64
const maxMarkedLength = 131_072
const maxJsonTexts = 16

/**
 * Finds private keys in a text, in any encoding. Never logs, stores or throws any part of the
 * text; the secrets it returns are for `deriveExposedKey` only.
 */
export function findSecret(text: string): SecretFinding | undefined {
  const secrets: Secret[] = []
  let found = false
  const texts = readJson(text)?.texts.slice(0, maxJsonTexts) ?? []
  for (const decoding of [text, ...texts].flatMap(decodingsOf)) {
    const hits = 'text' in decoding ? findInText(decoding.text) : findInBytes(decoding.bytes)
    if (hits === undefined) continue
    found = true
    secrets.push(...hits)
  }
  return found ? { secrets } : undefined
}

/** Whether bytes contain a private key that is not encoded once more. */
export function holdsSecret(bytes: Uint8Array): boolean {
  return findInBytes(bytes) !== undefined
}

/**
 * Whether a text contains a private key. A text of more than `maxLength` characters is not decoded:
 * only plain markers in its first 131,072 characters count.
 */
export function containsSecret(text: string, maxLength: number): boolean {
  if (text.length > maxLength) return hasPlainMarker(text.slice(0, maxMarkedLength))
  return findSecret(text) !== undefined
}

function findInText(text: string): Secret[] | undefined {
  const members = readJson(text)?.secrets ?? []
  if (members.length > 0) return members.map((jwk) => ({ kind: 'jwk', members: jwk }))
  if (hasMarker(text) || damagedDer.test(text)) return []
  for (const sequence of sequencesIn(text)) {
    const isPrivate = isPrivateKeyAt(decodeBase64(sequence.slice(0, maxSequenceHead)), 0)
    if (isPrivate && !isCertificateStore(decodeBase64(sequence), 0)) return []
  }
  return undefined
}

function findInBytes(bytes: Uint8Array): Secret[] | undefined {
  for (let at = bytes.indexOf(0x6f); at >= 0; at = bytes.indexOf(0x6f, at + 1)) {
    if (startsWith(bytes, at, opensshMagic)) return [{ kind: 'openssh', bytes: bytes.subarray(at) }]
  }
  if (magics.some((magic) => startsWith(bytes, 0, magic))) return []
  if (isPrivateKeyAt(bytes, 0)) return [{ kind: 'asn1', bytes }]
  for (let at = bytes.indexOf(0x30, 1); at >= 0; at = bytes.indexOf(0x30, at + 1)) {
    if (bytes.length - at < minHiddenLength) return undefined
    if (isPrivateKeyAt(bytes, at) && isComplete(bytes, at)) {
      return [{ kind: 'asn1', bytes: bytes.subarray(at) }]
    }
  }
  return undefined
}
