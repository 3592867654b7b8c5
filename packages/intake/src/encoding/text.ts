import { commands } from '../commands.ts'
import type { Fault, Repair } from '../types.ts'

/** UTF-16 units that the text of a key may have; the longest valid key has 3,595. */
export const maxTextLength = 16_384

const byteOrderMark = '\uFEFF'
const typographicDash = /[\u2010-\u2015\u2212\uFE58\uFE63\uFF0D]/u

/** Whether the text is empty or white space, after an optional byte order mark. */
export function isBlank(text: string): boolean {
  return withoutByteOrderMark(text).trim() === ''
}

/**
 * Checks for characters that PEM does not allow: anything but tab, line feed, carriage return and
 * printable ASCII after an optional byte order mark (RFC 7468 section 2).
 */
export function checkCharacters(text: string): Fault[] {
  const body = withoutByteOrderMark(text)
  const index = body.search(/[^\t\n\r\x20-\x7e]/)
  if (index < 0) return []
  const codePoint = body.codePointAt(index) ?? 0
  const name = `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`
  const found = `The key contains a character that PEM does not allow (code point ${name} at position ${index + 1}).`
  const detail = `${found} ${encodingAdvice(body, codePoint)}`
  const faults: Fault[] = [{ code: 'key_encoding_invalid', detail }]
  if (typographicDash.test(body) && /BEGIN/.test(body)) {
    const detail =
      'The BEGIN and END lines have typographic dashes. Use five ASCII hyphens on each side.'
    faults.push({ code: 'pem_not_found', detail })
  }
  return faults
}

function encodingAdvice(body: string, codePoint: number): string {
  if (/\0[-A-Za-z]\0|[\u2d00\u4d00]/.test(body)) {
    return 'This is UTF-16: save the file as UTF-8 or ASCII.'
  }
  if (body.startsWith('0') || codePoint === 0xfffd) {
    return `If this is a DER file, convert it: ${commands.convertDer}`
  }
  if (typographicDash.test(String.fromCodePoint(codePoint))) {
    return 'It is a typographic dash: use the ASCII hyphen.'
  }
  return 'An editor, a chat or a web page changed the text: copy the key from its file again.'
}

/**
 * Undoes the changes that files, forms and environment variables make to PEM, without loss: byte
 * order mark, outer white space, one pair of double quotes, escaped line breaks in a text without
 * real ones, and other line endings.
 */
export function normalizeText(text: string): { text: string; repairs: Set<Repair> } {
  const repairs = new Set<Repair>()
  let body = withoutByteOrderMark(text)
  if (body !== text) repairs.add('bom')
  if (/^[\t\n\r ]|[\t\n\r ][\t\n\r ]$|[\t\r ]$/.test(body.replace(/\r\n?/g, '\n'))) {
    repairs.add('white_space')
  }
  body = body.trim()
  if (/^".*"$/s.test(body)) {
    repairs.add('quotes')
    body = body.slice(1, -1).trim()
  }
  if (!/[\r\n]/.test(body) && /\\[rn]/.test(body)) {
    repairs.add('escaped_line_breaks')
    body = body.replace(/\\r\\n|\\r|\\n/g, '\n').trim()
  }
  if (text.includes('\r') || !/[\r\n][\t ]*$/.test(text)) repairs.add('line_breaks')
  return { text: body.replace(/\r\n?/g, '\n'), repairs }
}

function withoutByteOrderMark(text: string): string {
  return text.startsWith(byteOrderMark) ? text.slice(1) : text
}
