/** One DER element (X.690): its tag, where it begins, where its contents begin and end. */
export type Element = { tag: number; start: number; from: number; to: number }

/** The element at `at`; undefined where the bytes are no DER. */
export function elementAt(bytes: Uint8Array, at: number): Element | undefined {
  const tag = bytes[at]
  const first = bytes[at + 1]
  if (tag === undefined || first === undefined) return undefined
  const octets = first < 0x80 ? 0 : first & 0x7f
  if (octets > 4 || first === 0x80) return undefined
  let length = octets === 0 ? first : 0
  for (let index = 0; index < octets; index += 1) {
    length = length * 256 + (bytes[at + 2 + index] ?? 0)
  }
  const from = at + 2 + octets
  return from + length <= bytes.length ? { tag, start: at, from, to: from + length } : undefined
}

/** The elements inside a constructed one; undefined where they do not fill it. */
export function childrenOf(bytes: Uint8Array, parent: Element): Element[] | undefined {
  const children: Element[] = []
  for (let at = parent.from; at < parent.to; ) {
    const child = elementAt(bytes, at)
    if (child === undefined || child.to > parent.to) return undefined
    children.push(child)
    at = child.to
  }
  return children
}

/** The bytes of base64 or base64url text; white space is passed over. */
export function base64Bytes(text: string): Uint8Array | undefined {
  const plain = text.replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/')
  if (plain === '' || /[^A-Za-z0-9+/=]/.test(plain)) return undefined
  try {
    return Uint8Array.from(atob(plain), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

/** PEM (RFC 7468) with 64 columns. */
export function pemOf(bytes: Uint8Array, label: string): string {
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
  const lines = base64.match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
