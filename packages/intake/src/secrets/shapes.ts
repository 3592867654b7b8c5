import { decodeHex } from './bytes.ts'

interface Header {
  tag: number
  /** Where the content begins. */
  start: number
  /** Where the content ends; beyond the last byte if the input was cut off. */
  end: number
}

const constructed = 0x20
const integer = 0x02
const octetString = 0x04
const objectIdentifier = 0x06
const sequence = 0x30

/** First bytes of the object identifiers of PKCS#5, the PBE of PKCS#12, and PKCS#7. */
const pkcs5 = decodeHex('2a864886f70d0105')
const pkcs12Pbe = decodeHex('2a864886f70d010c01')
const pkcs7 = decodeHex('2a864886f70d0107')
/** The object identifiers of the encrypted data of PKCS#7, and of the certificate bag of PKCS#12. */
const encryptedData = decodeHex('2a864886f70d010706')
const certificateBag = decodeHex('2a864886f70d010c0a0103')
/** A DSA private key has version, p, q, g, y and x; an RSA one has nine integers. */
const minIntegers = 6

/**
 * Whether a private key structure begins at an offset, even if cut off or in BER: PKCS#8 (RFC 5958),
 * PKCS#1 (RFC 8017 A.1.2), SEC 1 (RFC 5915), encrypted PKCS#8, or PKCS#12 that may hold one. More lenient than any
 * parser, so that it misses no private key that a parser could read.
 */
export function isPrivateKeyAt(bytes: Uint8Array, at: number): boolean {
  const outer = headerAt(bytes, at)
  if (outer?.tag !== sequence) return false
  const first = headerAt(bytes, outer.start)
  if (first === undefined) return false
  if (first.tag === sequence) return isEncrypted(bytes, outer, first)
  if (first.tag !== integer || lengthOf(first) !== 1) return false
  const version = bytes[first.start]
  const second = headerAt(bytes, first.end)
  if (second === undefined || version === undefined || second.end > outer.end) return false
  if (version === 3 && second.tag === sequence) {
    return isNamed(bytes, second, pkcs7) && !isCertificateStore(bytes, at)
  }
  if (version > 1) return false
  if (isOctetString(second)) return version === 1 && lengthOf(second) >= 8
  if (second.tag === sequence) return isPkcs8(bytes, second)
  return second.tag === integer && isPkcs1(bytes, outer, second)
}

/** AlgorithmIdentifier, then the key, unless that was cut off. */
function isPkcs8(bytes: Uint8Array, algorithm: Header): boolean {
  if (bytes[algorithm.start] !== objectIdentifier) return false
  const key = headerAt(bytes, algorithm.end)
  return key === undefined || isOctetString(key)
}

/** At least six integers or, if cut off, a first one that leaves room for others of its size. */
function isPkcs1(bytes: Uint8Array, outer: Header, second: Header): boolean {
  if (countIntegers(bytes, outer) >= minIntegers) return true
  const length = lengthOf(second)
  return outer.end > bytes.length && length >= 32 && lengthOf(outer) > 2 * length
}

function isEncrypted(bytes: Uint8Array, outer: Header, algorithm: Header): boolean {
  const isPasswordBased = [pkcs5, pkcs12Pbe].some((name) => isNamed(bytes, algorithm, name))
  if (!isPasswordBased || algorithm.end > outer.end) return false
  const data = headerAt(bytes, algorithm.end)
  return data === undefined || isOctetString(data)
}

/** Whether the first element of a structure is an object identifier that begins like this. */
function isNamed(bytes: Uint8Array, { start }: Header, name: Uint8Array): boolean {
  const first = headerAt(bytes, start)
  return first?.tag === objectIdentifier && startsWith(bytes, first.start, name)
}

/**
 * Whether a whole PKCS#12 (RFC 7292) in DER begins at an offset, all of whose visible bags are certificates.
 * No known tool puts private keys into encrypted data, as it does certificates.
 */
export function isCertificateStore(bytes: Uint8Array, at: number): boolean {
  const outer = headerAt(bytes, at)
  const [, content] = (outer && elementsIn(bytes, outer)) ?? []
  const safes = content && bagsIn(bytes, content)
  const holdsCertificates = (safe: Header) =>
    isNamed(bytes, safe, encryptedData) ||
    bagsIn(bytes, safe)?.every((bag) => isNamed(bytes, bag, certificateBag)) === true
  return safes?.every(holdsCertificates) === true
}

/** The elements of the SEQUENCE in the OCTET STRING of a ContentInfo; undefined unless it is whole and in DER. */
function bagsIn(bytes: Uint8Array, info: Header): Header[] | undefined {
  const [, explicit] = elementsIn(bytes, info) ?? []
  const [octets] = (explicit && elementsIn(bytes, explicit)) ?? []
  const [bags] = (octets?.tag === octetString && elementsIn(bytes, octets)) || []
  return bags && elementsIn(bytes, bags)
}

function elementsIn(bytes: Uint8Array, { start, end }: Header): Header[] | undefined {
  const elements: Header[] = []
  for (let at = start; at < end; at = elements.at(-1)?.end ?? end) {
    const next = headerAt(bytes, at)
    const isWhole = next !== undefined && next.end <= Math.min(end, bytes.length)
    if (!isWhole || bytes[at + 1] === 0x80) return undefined
    elements.push(next)
  }
  return elements
}

function isOctetString({ tag }: Header): boolean {
  return (tag & ~constructed) === octetString
}

function lengthOf({ start, end }: Header): number {
  return end - start
}

function countIntegers(bytes: Uint8Array, outer: Header): number {
  let count = 0
  let at = outer.start
  while (at < outer.end && count < minIntegers) {
    const next = headerAt(bytes, at)
    if (next?.tag !== integer || next.end > bytes.length) break
    count += 1
    at = next.end
  }
  return count
}

/** Whether the structure at an offset was not cut off. */
export function isComplete(bytes: Uint8Array, at: number): boolean {
  const outer = headerAt(bytes, at)
  return outer !== undefined && outer.end <= bytes.length
}

/** The element at an offset, in DER or BER, even if it was cut off. */
export function headerAt(bytes: Uint8Array, at: number): Header | undefined {
  const tag = bytes[at]
  const first = bytes[at + 1]
  if (tag === undefined || first === undefined) return undefined
  if (first < 0x80) return { tag, start: at + 2, end: at + 2 + first }
  if (first === 0x80) return { tag, start: at + 2, end: bytes.length }
  const start = at + 2 + (first & 0x7f)
  if (start > at + 10 || start > bytes.length) return undefined
  let length = 0
  for (let index = at + 2; index < start; index += 1) length = length * 256 + (bytes[index] ?? 0)
  return { tag, start, end: start + length }
}

/** Whether the bytes at an offset begin with a prefix. */
export function startsWith(bytes: Uint8Array, at: number, prefix: Uint8Array): boolean {
  return prefix.every((byte, index) => bytes[at + index] === byte)
}
