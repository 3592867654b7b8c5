import { commands } from '../commands.ts'
import { adviseContent, type Content } from '../formats/content.ts'
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
  const store = describeKeyStore(body)
  if (store !== undefined) return store
  const [, content] = derStarts.find(([start]) => start.test(body)) ?? []
  if (content !== undefined) return `This is DER: ${adviseContent(content, 'cat key.der')}`
  if (body.startsWith('0')) return `If this is a DER file, convert it: ${commands.convertDer}`
  if (codePoint === 0xfffd && !/BEGIN |^[\x20-\x7e]{12}/.test(body)) {
    return 'This is binary data: send the public key in PEM.'
  }
  if (codePoint === 0xfffd) return 'The text is not UTF-8: save the file as UTF-8.'
  if (typographicDash.test(String.fromCodePoint(codePoint))) {
    return 'It is a typographic dash: use the ASCII hyphen.'
  }
  return 'An editor, a chat or a web page changed the text: copy the key from its file again.'
}

const [one, two, three, identifier, seven] = ['\x01', '\x02', '\x03', '\x06', '\x07']
/** The beginnings of DER that was read as text, which replaces, joins or drops bytes above 127. */
const derStarts: readonly [start: RegExp, content: Content][] = [
  [new RegExp(`^0.{1,3}0.{1,4}?${three}${two}${one}.${two}`, 's'), 'CERTIFICATE'],
  [new RegExp(`^0.{1,3}0.{1,3}${two}${one}${'\0'}0`, 's'), 'CERTIFICATE REQUEST'],
  [new RegExp(`^0.{1,3}${identifier}\t\\*.{3,6}${seven}${two}`, 's'), 'PKCS7'],
]

/** Names a file that holds others, and says what to do; undefined for any other text. */
export function describeKeyStore(text: string): string | undefined {
  return stores.find(([is]) => is(text))?.[1]
}

const isPkcs12 = (text: string) =>
  text.startsWith('0') && text.slice(0, 10).includes('\x02\x01\x030')
/** The ends of the identifiers of the bags of PKCS#12 that hold a private key (RFC 7292 appendix D). */
const keyBags = ['\x01\x0c\n\x01\x01', '\x01\x0c\n\x01\x02']

/** Files that hold others, known by their beginning when it is read as UTF-8. */
const stores: readonly [is: (text: string) => boolean, advice: string][] = [
  [
    (text) => isPkcs12(text) && keyBags.some((bag) => text.includes(bag)),
    `This is a key store (PKCS#12). To print its public key: ${commands.convertPkcs12}`,
  ],
  [
    isPkcs12,
    `This is a PKCS#12 file. To print the public key of its first certificate: ${commands.convertTrustStore}`,
  ],
  [
    (text) => text.startsWith('\ufffd\ufffd\ufffd\ufffd\0\0\0'),
    `This may be a key store of Java (JKS). To print the public key of its first certificate: ${commands.convertJks}`,
  ],
  [
    (text) => text.startsWith('PK\x03\x04') || text.startsWith('\x1f\ufffd\b'),
    'This is a compressed file: unpack it.',
  ],
]

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
