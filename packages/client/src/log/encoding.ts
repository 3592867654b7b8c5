/** Bytes that WebCrypto accepts. */
export type Bytes = Uint8Array<ArrayBuffer>

export const utf8 = (text: string): Bytes => new TextEncoder().encode(text)

export function concatBytes(...parts: readonly Uint8Array[]): Bytes {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let offset = 0
  for (const part of parts) {
    all.set(part, offset)
    offset += part.length
  }
  return all
}

export function toHex(bytes: Uint8Array): string {
  return bytes.reduce((text, byte) => text + byte.toString(16).padStart(2, '0'), '')
}

/** Standard base64 with padding (RFC 4648 section 4). */
export function toBase64(bytes: Uint8Array): string {
  return btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ''))
}

/** Undefined unless the text is exactly what `toBase64` returns for the bytes. */
export function fromBase64(text: string): Bytes | undefined {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
    return toBase64(bytes) === text ? bytes : undefined
  } catch {
    return undefined
  }
}

/** The bytes of base64url without padding (RFC 7515). Undefined for another text. */
export function fromBase64url(text: string): Bytes | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) return undefined
  const standard = text.replaceAll('-', '+').replaceAll('_', '/')
  return fromBase64(standard.padEnd(Math.ceil(standard.length / 4) * 4, '='))
}

export async function sha256(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
}

/** SHA-256 of the text in UTF-8, in lower-case hex. */
export async function hexDigest(text: string): Promise<string> {
  return toHex(await sha256(utf8(text)))
}

/** SHA-256 of the text in UTF-8, in base64url without padding. */
export async function base64urlDigest(text: string): Promise<string> {
  const base64 = toBase64(await sha256(utf8(text)))
  return base64.replaceAll('+', '-').replaceAll('/', '_').replace('=', '')
}
