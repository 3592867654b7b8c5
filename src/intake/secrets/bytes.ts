/** Conversions without `Buffer`: the console runs the detector in browsers. */

const base64Values = new Uint8Array(128)
const base64Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
for (const [value, character] of [...base64Alphabet].entries()) {
  base64Values[character.charCodeAt(0)] = value
}
base64Values[0x2d] = 62
base64Values[0x5f] = 63

/** Decodes characters of either base64 alphabet without padding; leftover bits are dropped. */
export function decodeBase64(text: string): Uint8Array {
  const bytes = new Uint8Array((text.length * 3) >> 2)
  const valueAt = (index: number) => base64Values[text.charCodeAt(index) & 0x7f] ?? 0
  let read = 0
  for (let written = 0; written < bytes.length; written += 3) {
    const group =
      (valueAt(read) << 18) |
      (valueAt(read + 1) << 12) |
      (valueAt(read + 2) << 6) |
      valueAt(read + 3)
    // Bytes past the end of the array are ignored.
    bytes[written] = group >> 16
    bytes[written + 1] = group >> 8
    bytes[written + 2] = group
    read += 4
  }
  return bytes
}

/** Decodes hexadecimal digits; an odd last one is dropped. */
export function decodeHex(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length >> 1)
  for (let index = 0; index < bytes.length; index += 1) {
    bytes[index] = (digitAt(text, 2 * index) << 4) | digitAt(text, 2 * index + 1)
  }
  return bytes
}

function digitAt(text: string, index: number): number {
  const code = text.charCodeAt(index)
  return code <= 0x39 ? code - 0x30 : (code & 0xf) + 9
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
