import { fault } from '../fault.ts'
import type { Fault, Repair } from '../types.ts'

/** The longest text that is looked at unless a setting says otherwise, in UTF-16 units; the longest legal key has 3,595. */
export const MAX_TEXT_LENGTH = 16_384

const BYTE_ORDER_MARK = '\uFEFF'
const typographicDash = /[\u2010-\u2015\u2212\uFE58\uFE63\uFF0D]/u

/** Whether nothing but white space was sent (after one optional byte order mark). */
export function isBlank(text: string): boolean {
  return withoutMark(text).trim() === ''
}

/**
 * The characters that PEM allows: tab, line feed, carriage return and printable ASCII, after one
 * optional byte order mark (RFC 7468 section 2).
 */
export function checkCharacters(text: string): Fault[] {
  const body = withoutMark(text)
  const index = body.search(/[^\t\n\r\x20-\x7e]/)
  if (index < 0) return []
  const point = body.codePointAt(index) ?? 0
  const name = `U+${point.toString(16).toUpperCase().padStart(4, '0')}`
  const found = `The key holds a character that PEM does not allow (code point ${name} at position ${index + 1}).`
  const faults = [fault('key_encoding_invalid', `${found} ${encodingAdvice(body, point)}`)]
  if (typographicDash.test(body) && /BEGIN/.test(body)) {
    const detail =
      'The dashes of the BEGIN and END lines are typographic ones. Replace them by five ASCII hyphens on each side.'
    faults.push(fault('pem_not_found', detail))
  }
  return faults
}

function encodingAdvice(body: string, point: number): string {
  if (/\0[-A-Za-z]\0|[\u2d00\u4d00]/.test(body)) {
    return 'This is UTF-16: save the file as UTF-8 or ASCII and send it again.'
  }
  if (body.startsWith('0') || point === 0xfffd) {
    return 'If this is a DER file, convert it: openssl pkey -pubin -inform DER -in key.der -pubout'
  }
  if (typographicDash.test(String.fromCodePoint(point))) {
    return 'It is a typographic dash: replace it by the ASCII hyphen.'
  }
  return 'Copy the key from its file again; an editor, a chat or a web page has changed it.'
}

/**
 * Undoes what carrying a PEM through files, forms and environment variables does to it, without
 * losing anything: byte order mark, outer white space, one pair of double quotes, written-out line
 * breaks where there is no real one, and other line ends.
 */
export function normaliseText(text: string): { text: string; normalised: Set<Repair> } {
  const normalised = new Set<Repair>()
  let body = withoutMark(text)
  if (body !== text) normalised.add('bom')
  if (/^[\t\n\r ]|[\t\n\r ][\t\n\r ]$|[\t\r ]$/.test(body.replace(/\r\n?/g, '\n'))) {
    normalised.add('white_space')
  }
  body = body.trim()
  if (/^".*"$/s.test(body)) {
    normalised.add('quotes')
    body = body.slice(1, -1).trim()
  }
  if (!/[\r\n]/.test(body) && /\\[rn]/.test(body)) {
    normalised.add('escaped_line_breaks')
    body = body.replace(/\\r\\n|\\r|\\n/g, '\n').trim()
  }
  if (text.includes('\r') || !/[\r\n][\t ]*$/.test(text)) normalised.add('line_breaks')
  return { text: body.replace(/\r\n?/g, '\n'), normalised }
}

function withoutMark(text: string): string {
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}
