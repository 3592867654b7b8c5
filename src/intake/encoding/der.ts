import type { IntakeCode } from '../codes/index.ts'

/** Tags of the universal class that a public key uses (X.680 section 8.6). */
export const tag = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  sequence: 0x30,
} as const

const CONSTRUCTED = 0x20
const MAX_LENGTH_BYTES = 4

/** DER that breaks a rule; `code` is the fine code of the refusal, the message its detail. */
export class DerError extends Error {
  readonly code: IntakeCode
  constructor(code: IntakeCode, detail: string) {
    super(detail.charAt(0).toUpperCase() + detail.slice(1))
    this.name = 'DerError'
    this.code = code
  }
}

export interface Element {
  tag: number
  content: Uint8Array
  /** What follows the element in the bytes it was read from. */
  rest: Uint8Array
}

const BER =
  'The key is BER, not DER. Export it again: openssl pkey -pubin -in key.pem -pubout -out pub.pem'

/**
 * Reads one element with a single-byte tag and a definite length in its shortest form of at most
 * four bytes (X.690 section 10.1). Throws a DerError. Nothing is copied and nothing recurses.
 */
export function readElement(bytes: Uint8Array, what: string): Element {
  const [first, second] = bytes
  if (first === undefined || second === undefined) {
    throw new DerError(
      'spki_der_invalid',
      `The key ends where ${what} should be: it was cut off. Copy the whole key again, from its file.`,
    )
  }
  if ((first & 0x1f) === 0x1f) {
    throw new DerError('spki_der_invalid', `${what} has a tag of more than one byte.`)
  }
  const { header, length } = readLength(bytes, second, what)
  if (length > bytes.length - header) {
    const left = bytes.length - header
    throw new DerError(
      'spki_der_invalid',
      `${what} says that it has ${length} bytes, but ${left} are left. The key is cut off or damaged; copy it again, whole.`,
    )
  }
  const end = header + length
  return { tag: first, content: bytes.subarray(header, end), rest: bytes.subarray(end) }
}

function readLength(bytes: Uint8Array, second: number, what: string) {
  if (second < 0x80) return { header: 2, length: second }
  if (second === 0x80) throw new DerError('spki_not_der', `${what} has no definite length. ${BER}`)
  const count = second & 0x7f
  if (count > MAX_LENGTH_BYTES) {
    throw new DerError(
      'spki_der_invalid',
      `The length of ${what} takes ${count} bytes; at most ${MAX_LENGTH_BYTES} are read.`,
    )
  }
  let length = 0
  for (let index = 2; index < 2 + count; index += 1) {
    const byte = bytes[index]
    if (byte === undefined) {
      throw new DerError('spki_der_invalid', `The key ends inside the length of ${what}.`)
    }
    length = length * 256 + byte
  }
  if (length < 0x80 || length < 256 ** (count - 1)) {
    throw new DerError('spki_not_der', `The length of ${what} is not in its shortest form. ${BER}`)
  }
  return { header: 2 + count, length }
}

/** Reads one element of the wanted tag. Throws a DerError. */
export function expectElement(bytes: Uint8Array, wanted: number, what: string): Element {
  const element = readElement(bytes, what)
  if (element.tag === wanted) return element
  if (element.tag === (wanted | CONSTRUCTED)) {
    throw new DerError('spki_not_der', `${what} is in constructed form. ${BER}`)
  }
  throw new DerError(
    'spki_der_invalid',
    `${what} has tag ${hexByte(element.tag)}; ${hexByte(wanted)} is wanted. The key is damaged, or it is no public key.`,
  )
}

/** Requires that nothing follows (X.690 leaves no room for it). Throws a DerError. */
export function expectEnd(rest: Uint8Array, what: string): void {
  if (rest.length === 0) return
  throw new DerError(
    'spki_trailing_data',
    `${rest.length} bytes follow ${what}. Export the key again: openssl pkey -pubin -in key.pem -pubout -out pub.pem`,
  )
}

/** The content bytes of an INTEGER in two's complement, checked to be minimal (X.690 8.3.2). */
export function expectInteger(bytes: Uint8Array, what: string): Element {
  const element = expectElement(bytes, tag.integer, what)
  const [first, second] = element.content
  if (first === undefined) throw new DerError('spki_der_invalid', `${what} has no bytes.`)
  const redundant =
    second !== undefined &&
    ((first === 0x00 && second < 0x80) || (first === 0xff && second >= 0x80))
  if (redundant) throw new DerError('spki_not_der', `${what} has superfluous bytes. ${BER}`)
  return element
}

/** Reads an OBJECT IDENTIFIER: its dotted form and what follows it. Throws a DerError. */
export function expectOid(bytes: Uint8Array, what: string): { oid: string; rest: Uint8Array } {
  const { content, rest } = expectElement(bytes, tag.oid, what)
  const last = content[content.length - 1]
  if (last === undefined || last >= 0x80) {
    throw new DerError('spki_der_invalid', `${what} is not a complete object identifier.`)
  }
  const arcs: bigint[] = []
  let arc = 0n
  let atStart = true
  for (const byte of content) {
    if (atStart && byte === 0x80) {
      throw new DerError('spki_not_der', `${what} has a padded arc. ${BER}`)
    }
    arc = arc * 128n + BigInt(byte & 0x7f)
    atStart = byte < 0x80
    if (!atStart) continue
    arcs.push(arc)
    arc = 0n
    if (arcs.length > 32) throw new DerError('spki_der_invalid', `${what} has too many arcs.`)
  }
  return { oid: dotted(arcs), rest }
}

function dotted(arcs: bigint[]): string {
  const [joint = 0n, ...others] = arcs
  const top = joint < 80n ? joint / 40n : 2n
  return [top, joint - top * 40n, ...others].join('.')
}

/** Reads a BIT STRING of whole bytes. Throws a DerError. */
export function expectBitString(bytes: Uint8Array, what: string): Element {
  const element = expectElement(bytes, tag.bitString, what)
  const unused = element.content[0]
  if (unused === undefined) throw new DerError('spki_der_invalid', `${what} has no bytes.`)
  if (unused !== 0) {
    throw new DerError(
      'spki_der_invalid',
      `${what} says that ${unused} of its last bits are unused; a key has whole bytes.`,
    )
  }
  return { ...element, content: element.content.subarray(1) }
}

/** Encodes one element in DER. */
export function encode(elementTag: number, ...contents: Uint8Array[]): Uint8Array {
  const content = Buffer.concat(contents)
  const bytes: number[] = []
  for (let rest = content.length; rest > 0; rest = Math.floor(rest / 256)) {
    bytes.unshift(rest % 256)
  }
  const length = content.length < 0x80 ? [content.length] : [0x80 | bytes.length, ...bytes]
  return Buffer.concat([Uint8Array.of(elementTag, ...length), content])
}

/** Encodes a non-negative INTEGER from its minimal big-endian bytes. */
export function encodeInteger(magnitude: Uint8Array): Uint8Array {
  const needsSign = magnitude.length === 0 || (magnitude[0] ?? 0) >= 0x80
  return encode(tag.integer, needsSign ? Uint8Array.of(0) : new Uint8Array(), magnitude)
}

/** Encodes a BIT STRING of whole bytes. */
export function encodeBitString(content: Uint8Array): Uint8Array {
  return encode(tag.bitString, Uint8Array.of(0), content)
}

function hexByte(value: number): string {
  return `0x${value.toString(16).padStart(2, '0')}`
}
