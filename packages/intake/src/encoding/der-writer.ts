import { tag } from './der.ts'

/** Encodes one element in DER. */
export function encode(elementTag: number, ...contents: Uint8Array[]): Uint8Array {
  const content = Buffer.concat(contents)
  const lengthBytes: number[] = []
  for (let rest = content.length; rest > 0; rest = Math.floor(rest / 256)) {
    lengthBytes.unshift(rest % 256)
  }
  const length =
    content.length < 0x80 ? [content.length] : [0x80 | lengthBytes.length, ...lengthBytes]
  return Buffer.concat([Uint8Array.of(elementTag, ...length), content])
}

/** A NULL, the parameters of RSA keys and hash algorithms. */
export const derNull = encode(tag.null)

/** Encodes a non-negative INTEGER from its shortest big-endian bytes. */
export function encodeInteger(magnitude: Uint8Array): Uint8Array {
  const needsSign = magnitude.length === 0 || (magnitude[0] ?? 0) >= 0x80
  return encode(tag.integer, needsSign ? Uint8Array.of(0) : new Uint8Array(), magnitude)
}

/** Encodes a BIT STRING of whole bytes. */
export function encodeBitString(content: Uint8Array): Uint8Array {
  return encode(tag.bitString, Uint8Array.of(0), content)
}

/** Encodes an OBJECT IDENTIFIER in dotted form (X.690 section 8.19). */
export function encodeOid(dotted: string): Uint8Array {
  const [top = 0, second = 0, ...others] = dotted.split('.').map(Number)
  return encode(tag.oid, Uint8Array.from([40 * top + second, ...others].flatMap(encodeArc)))
}

function encodeArc(arc: number): number[] {
  const bytes = [arc % 128]
  for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.unshift((rest % 128) | 0x80)
  }
  return bytes
}

/** A SubjectPublicKeyInfo (RFC 5280 section 4.1); Ed25519 and ML-DSA have empty parameters. */
export function encodeSpki(oid: string, parameters: Uint8Array, key: Uint8Array): Uint8Array {
  const algorithm = encode(tag.sequence, encodeOid(oid), parameters)
  return encode(tag.sequence, algorithm, encodeBitString(key))
}

/** A PrivateKeyInfo (RFC 5208) without algorithm parameters. */
export function encodePkcs8(oid: string, key: Uint8Array): Uint8Array {
  const version = encodeInteger(new Uint8Array())
  const algorithm = encode(tag.sequence, encodeOid(oid))
  return encode(tag.sequence, version, algorithm, encode(tag.octetString, key))
}
