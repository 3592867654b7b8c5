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
    return Uint8Array.from(atob(plain), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

/** PEM (RFC 7468) with 64 columns. */
export function toPem(bytes: Uint8Array, label: string): string {
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
  const lines = base64.match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

/** The DER encoding of an element with these contents. */
export function encodeElement(tag: number, ...contents: Uint8Array[]): Uint8Array {
  const size = contents.reduce((sum, { length }) => sum + length, 0)
  const lengthBytes: number[] = []
  for (let rest = size; rest > 0; rest = Math.floor(rest / 256)) lengthBytes.unshift(rest % 256)
  const header = size < 0x80 ? [tag, size] : [tag, 0x80 | lengthBytes.length, ...lengthBytes]
  return Uint8Array.from([header, ...contents.map((each) => [...each])].flat())
}
