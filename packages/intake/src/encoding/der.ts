import type { IntakeCode } from '../codes.ts'
import { commands } from '../commands.ts'

/** Tags of the universal class that keys use (X.680 section 8.6). */
export const tag = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  sequence: 0x30,
} as const

const constructed = 0x20
const maxLengthBytes = 4
const maxArcs = 32

/** DER that breaks a rule; `code` is the code of the fault, the message its detail. */
export class DerError extends Error {
  readonly code: IntakeCode
  constructor(code: IntakeCode, detail: string) {
    super(detail.charAt(0).toUpperCase() + detail.slice(1))
    this.name = 'DerError'
    this.code = code
  }
}

function failDamaged(finding: string): never {
  throw new DerError(
    'spki_der_invalid',
    `${finding} The key was cut off or damaged: copy it from its file again.`,
  )
}

function failBer(finding: string): never {
  throw new DerError(
    'spki_not_der',
    `${finding} The key is encoded in BER, not DER. Export it again: ${commands.exportPublic}`,
  )
}

export interface Element {
  tag: number
  content: Uint8Array
  /** The bytes after the element. */
  rest: Uint8Array
}

/**
 * Reads one element with a one-byte tag and a definite length in the shortest form of at most four
 * bytes (X.690 section 10.1). Neither copies nor recurses. Throws a DerError.
 */
export function readElement(bytes: Uint8Array, part: string): Element {
  const [first, second] = bytes
  if (first === undefined || second === undefined) failDamaged(`The key ends before ${part}.`)
  if ((first & 0x1f) === 0x1f) failDamaged(`${part} has a tag of more than one byte.`)
  const { header, length } = readLength(bytes, second, part)
  const available = bytes.length - header
  if (length > available) {
    failDamaged(`${part} should have ${length} bytes, but only ${available} follow.`)
  }
  const end = header + length
  return { tag: first, content: bytes.subarray(header, end), rest: bytes.subarray(end) }
}

function readLength(bytes: Uint8Array, second: number, part: string) {
  if (second < 0x80) return { header: 2, length: second }
  if (second === 0x80) failBer(`${part} has an indefinite length.`)
  const header = 2 + (second & 0x7f)
  if (header > 2 + maxLengthBytes) {
    failDamaged(`The length of ${part} has ${header - 2} bytes; the maximum is ${maxLengthBytes}.`)
  }
  if (header > bytes.length) failDamaged(`The key ends inside the length of ${part}.`)
  let length = 0
  for (const byte of bytes.subarray(2, header)) length = length * 256 + byte
  if (length < 0x80 || length < 256 ** (header - 3)) {
    failBer(`The length of ${part} is not in its shortest form.`)
  }
  return { header, length }
}

/** Reads one element with the expected tag. Throws a DerError. */
export function expectElement(bytes: Uint8Array, expected: number, part: string): Element {
  const element = readElement(bytes, part)
  if (element.tag === expected) return element
  if (element.tag === (expected | constructed)) failBer(`${part} is in constructed form.`)
  return failDamaged(`${part} has tag ${hexByte(element.tag)} instead of ${hexByte(expected)}.`)
}

/** Throws a DerError if any bytes remain. */
export function expectEnd(rest: Uint8Array, part: string): void {
  if (rest.length === 0) return
  throw new DerError(
    'spki_trailing_data',
    `${rest.length} bytes follow ${part}. Export the key again: ${commands.exportPublic}`,
  )
}

/** Reads an INTEGER; its content is two's complement in the shortest form (X.690 section 8.3.2). */
export function expectInteger(bytes: Uint8Array, part: string): Element {
  const element = expectElement(bytes, tag.integer, part)
  const [first, second] = element.content
  if (first === undefined) failDamaged(`${part} is empty.`)
  const redundant =
    second !== undefined &&
    ((first === 0x00 && second < 0x80) || (first === 0xff && second >= 0x80))
  if (redundant) failBer(`${part} has redundant bytes.`)
  return element
}

/** Reads an OBJECT IDENTIFIER: its dotted form and the bytes after it. Throws a DerError. */
export function expectOid(bytes: Uint8Array, part: string): { oid: string; rest: Uint8Array } {
  const { content, rest } = expectElement(bytes, tag.oid, part)
  const last = content.at(-1)
  if (last === undefined || last >= 0x80) failDamaged(`${part} is incomplete.`)
  const arcs: bigint[] = []
  let arc = 0n
  let isFirstByte = true
  for (const byte of content) {
    if (isFirstByte && byte === 0x80) failBer(`${part} has a padded arc.`)
    arc = arc * 128n + BigInt(byte & 0x7f)
    isFirstByte = byte < 0x80
    if (!isFirstByte) continue
    arcs.push(arc)
    arc = 0n
    if (arcs.length > maxArcs) failDamaged(`${part} has more than ${maxArcs} arcs.`)
  }
  return { oid: toDotted(arcs), rest }
}

/** The first arc of the encoding holds two (X.690 section 8.19.4). */
function toDotted([joint = 0n, ...others]: bigint[]): string {
  const top = joint < 80n ? joint / 40n : 2n
  return [top, joint - top * 40n, ...others].join('.')
}

/** Reads a BIT STRING of whole bytes. Throws a DerError. */
export function expectBitString(bytes: Uint8Array, part: string): Element {
  const element = expectElement(bytes, tag.bitString, part)
  const unused = element.content[0]
  if (unused === undefined) failDamaged(`${part} is empty.`)
  if (unused !== 0) failDamaged(`${part} has ${unused} unused bits instead of none.`)
  return { ...element, content: element.content.subarray(1) }
}

function hexByte(value: number): string {
  return `0x${value.toString(16).padStart(2, '0')}`
}
