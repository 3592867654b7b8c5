/** Conversions without `Buffer`: the console runs the detector in browsers. */

/** Decodes characters of either base64 alphabet without padding; leftover bits are dropped. */
export function decodeBase64(text: string): Uint8Array {
  const standard = text.replaceAll('-', '+').replaceAll('_', '/')
  // `atob` rejects a single last character, which has no whole byte.
  return encodeLatin1(atob(standard.length % 4 === 1 ? standard.slice(0, -1) : standard))
}

/** Decodes hexadecimal digits; an odd last one is dropped. */
export function decodeHex(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length >> 1)
  for (let index = 0; index < bytes.length; index += 1) {
    bytes[index] = Number.parseInt(text.slice(2 * index, 2 * index + 2), 16)
  }
  return bytes
}

/** The bytes of a text in Latin-1. */
export function encodeLatin1(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length)
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = text.charCodeAt(index)
  return bytes
}

/** The bytes of a text in UTF-16. */
export function encodeUtf16(text: string, order: 'little' | 'big'): Uint8Array {
  const bytes = new Uint8Array(2 * text.length)
  const low = order === 'little' ? 0 : 1
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    bytes[2 * index + low] = code
    bytes[2 * index + 1 - low] = code >> 8
  }
  return bytes
}

/** Arguments per call, below the limit of every engine. */
const chunkSize = 8192

/** The text whose characters have the code points of the bytes (Latin-1). */
export function decodeLatin1(bytes: Uint8Array): string {
  let text = ''
  for (let start = 0; start < bytes.length; start += chunkSize) {
    // Spreading a typed array is seven times slower.
    const chunk: string = Reflect.apply(
      String.fromCharCode,
      undefined,
      bytes.subarray(start, start + chunkSize),
    )
    text += chunk
  }
  return text
}
