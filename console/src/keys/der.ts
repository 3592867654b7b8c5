import { decodeLatin1, encodeLatin1 } from '@pubring/intake/secrets'

/** A DER element (X.690): its tag, its start, and the range of its contents. */
export type Element = { tag: number; start: number; from: number; to: number }

/** The element at an offset; undefined if it is not DER. */
export function readElement(bytes: Uint8Array, offset: number): Element | undefined {
  const tag = bytes[offset]
  const first = bytes[offset + 1]
  if (tag === undefined || first === undefined) return undefined
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f
  if (lengthBytes > 4 || first === 0x80) return undefined
  let length = lengthBytes === 0 ? first : 0
  for (let index = 0; index < lengthBytes; index += 1) {
    length = length * 256 + (bytes[offset + 2 + index] ?? 0)
  }
  const from = offset + 2 + lengthBytes
  return from + length <= bytes.length ? { tag, start: offset, from, to: from + length } : undefined
}

/** The elements inside a constructed one; undefined if they do not fill it. */
export function readChildren(bytes: Uint8Array, parent: Element): Element[] | undefined {
  const children: Element[] = []
  for (let offset = parent.from; offset < parent.to; ) {
    const child = readElement(bytes, offset)
    if (child === undefined || child.to > parent.to) return undefined
    children.push(child)
    offset = child.to
  }
  return children
}

/** Decodes base64 or base64url, ignoring white space; undefined if it is neither. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const plain = text.replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/')
  if (plain === '' || /[^A-Za-z0-9+/=]/.test(plain)) return undefined
  try {
    return encodeLatin1(atob(plain))
  } catch {
    return undefined
  }
}

export const encodeBase64 = (bytes: Uint8Array): string => btoa(decodeLatin1(bytes))

export const base64OfPem = (pem: string): string => pem.replace(/-----[^-]*-----|\s/g, '')

/** The key in an SPKI in PEM: the contents of its BIT STRING (RFC 5280 section 4.1). */
export function keyOfPem(pem: string): Uint8Array | undefined {
  const bytes = decodeBase64(base64OfPem(pem))
  const spki = bytes && readElement(bytes, 0)
  const bitString = bytes && spki && readChildren(bytes, spki)?.[1]
  // The first byte of a BIT STRING counts unused bits.
  return bitString && bytes.subarray(bitString.from + 1, bitString.to)
}

/** Modulus and exponent of an RSA key, without leading zeros (RFC 8017 appendix A.1.1). */
export function rsaNumbers(
  key: Uint8Array,
): [modulus: Uint8Array, exponent: Uint8Array] | undefined {
  const sequence = readElement(key, 0)
  const numbers = sequence && readChildren(key, sequence)
  const [modulus, exponent] = (numbers ?? []).map(({ from, to }) => {
    const bytes = key.subarray(from, to)
    return bytes.subarray(bytes.findIndex((byte) => byte !== 0))
  })
  return modulus && exponent && [modulus, exponent]
}

/** PEM (RFC 7468) with 64 columns. */
export function toPem(bytes: Uint8Array, label: string): string {
  const lines = encodeBase64(bytes).match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

export function encodeElement(tag: number, ...contents: Uint8Array[]): Uint8Array {
  const size = contents.reduce((sum, { length }) => sum + length, 0)
  const lengthBytes: number[] = []
  for (let rest = size; rest > 0; rest = Math.floor(rest / 256)) lengthBytes.unshift(rest % 256)
  const header = size < 0x80 ? [tag, size] : [tag, 0x80 | lengthBytes.length, ...lengthBytes]
  return Uint8Array.from([header, ...contents.map((each) => [...each])].flat())
}
