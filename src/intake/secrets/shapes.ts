/** Structures of ASN.1 that hold a private key. */
export type SecretShape = 'pkcs8' | 'pkcs1' | 'sec1' | 'encrypted' | 'pkcs12'

interface Header {
  tag: number
  start: number
  /** Where the content ends; past the bytes where the text was cut. */
  end: number
}

const PKCS5 = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05]
const PKCS12_PBE = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01]
const PKCS7 = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07]
/** version, p, q, g, y, x of a DSA private key; an RSA one has nine. */
const LEAST_INTEGERS = 6

/**
 * The private structure that begins at an offset, cut or in BER too: PKCS#8 and RFC 5958, PKCS#1
 * (RFC 8017 A.1.2), SEC 1 (RFC 5915), encrypted PKCS#8 and PKCS#12. More lenient than any parser
 * that might take the key out, so that nothing of the kind goes further.
 */
export function secretShapeAt(bytes: Uint8Array, at: number): SecretShape | undefined {
  const outer = headerAt(bytes, at)
  if (outer?.tag !== 0x30) return undefined
  const first = headerAt(bytes, outer.start)
  if (first === undefined) return undefined
  if (first.tag === 0x30) return isEncrypted(bytes, outer, first) ? 'encrypted' : undefined
  if (first.tag !== 0x02 || first.end - first.start !== 1) return undefined
  const version = bytes[first.start]
  const second = headerAt(bytes, first.end)
  if (second === undefined || version === undefined || second.end > outer.end) return undefined
  if (version === 3) return isPkcs12(bytes, second) ? 'pkcs12' : undefined
  if (version > 1) return undefined
  return plainShape(bytes, version, outer, second)
}

function plainShape(
  bytes: Uint8Array,
  version: number,
  outer: Header,
  second: Header,
): SecretShape | undefined {
  const length = second.end - second.start
  if (second.tag === 0x30 && bytes[second.start] === 0x06) {
    const third = headerAt(bytes, second.end)
    return third === undefined || (third.tag & ~0x20) === 0x04 ? 'pkcs8' : undefined
  }
  if ((second.tag & ~0x20) === 0x04) return version === 1 && length >= 8 ? 'sec1' : undefined
  if (second.tag !== 0x02) return undefined
  if (countIntegers(bytes, outer) >= LEAST_INTEGERS) return 'pkcs1'
  const cut = outer.end > bytes.length
  return cut && length >= 32 && outer.end - outer.start > 2 * length ? 'pkcs1' : undefined
}

function isEncrypted(bytes: Uint8Array, outer: Header, first: Header): boolean {
  const name = headerAt(bytes, first.start)
  if (name?.tag !== 0x06 || first.end > outer.end) return false
  const known = startsWith(bytes, name.start, PKCS5) || startsWith(bytes, name.start, PKCS12_PBE)
  const data = headerAt(bytes, first.end)
  return known && (data === undefined || (data.tag & ~0x20) === 0x04)
}

function isPkcs12(bytes: Uint8Array, second: Header): boolean {
  const name = headerAt(bytes, second.start)
  return second.tag === 0x30 && name?.tag === 0x06 && startsWith(bytes, name.start, PKCS7)
}

function countIntegers(bytes: Uint8Array, outer: Header): number {
  let count = 0
  let at = outer.start
  while (at < outer.end && count < 16) {
    const next = headerAt(bytes, at)
    if (next?.tag !== 0x02 || next.end > bytes.length) break
    count += 1
    at = next.end
  }
  return count
}

/** Whether the structure at an offset is all there. */
export function isComplete(bytes: Uint8Array, at: number): boolean {
  const outer = headerAt(bytes, at)
  return outer !== undefined && outer.end <= bytes.length
}

function headerAt(bytes: Uint8Array, at: number): Header | undefined {
  const tag = bytes[at]
  const first = bytes[at + 1]
  if (tag === undefined || first === undefined) return undefined
  if (first < 0x80) return { tag, start: at + 2, end: at + 2 + first }
  if (first === 0x80) return { tag, start: at + 2, end: bytes.length }
  const count = first & 0x7f
  if (count > 8 || at + 2 + count > bytes.length) return undefined
  let length = 0
  for (let index = 0; index < count; index += 1)
    length = length * 256 + (bytes[at + 2 + index] ?? 0)
  return { tag, start: at + 2 + count, end: at + 2 + count + length }
}

function startsWith(bytes: Uint8Array, at: number, prefix: readonly number[]): boolean {
  return prefix.every((byte, index) => bytes[at + index] === byte)
}
