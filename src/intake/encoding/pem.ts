import { fault } from '../fault.ts'
import type { Fault, Repair } from '../types.ts'
import { describeUnarmoured } from './hints.ts'
import { normaliseText } from './text.ts'

export type PemLabel = 'PUBLIC KEY' | 'RSA PUBLIC KEY'

export interface Pem {
  label: PemLabel
  der: Uint8Array
}

export interface PemReading {
  /** Set where there are no faults. */
  pem?: Pem
  faults: Fault[]
  normalised: Set<Repair>
}

const CANONICAL_WIDTH = 64
const begin = /(?<!-)-----BEGIN ([A-Z0-9][A-Z0-9 ]*)-----(?!-)/
const end = /(?<!-)-----END ([A-Z0-9][A-Z0-9 ]*)-----(?!-)/

/**
 * Reads exactly one PEM block of a public key (RFC 7468), with the lossless repairs that are
 * listed in `normalised` and no others. The text has passed the check of its characters.
 */
export function readPem(original: string): PemReading {
  const { text, normalised } = normaliseText(original)
  const head = begin.exec(text)
  const label = head?.[1]
  if (head === null || label === undefined) {
    return { faults: [fault('pem_not_found', describeUnarmoured(text))], normalised }
  }
  const blocks = text.split('-----BEGIN ').length - 1
  if (blocks > 1) {
    const detail = `Send one key per request; ${blocks} PEM blocks were found.`
    return { faults: [fault('pem_multiple_blocks', detail)], normalised }
  }
  const start = head.index + head[0].length
  const foot = end.exec(text.slice(start))
  if (foot?.[1] === undefined) {
    const detail =
      'The END line is missing or cut short. Copy the whole key, from the BEGIN line to the END line.'
    return { faults: [fault('pem_end_missing', detail)], normalised }
  }
  const body = text.slice(start, start + foot.index)
  const after = text.slice(start + foot.index + foot[0].length)
  const content = readBody(body, normalised)
  const faults = [
    ...checkLabels(label, foot[1]),
    ...content.faults,
    ...checkSurroundings(text.slice(0, head.index), after),
    ...checkLabel(label),
  ]
  if (faults.length > 0 || content.der === undefined || !isTaken(label)) {
    return { faults, normalised }
  }
  return { pem: { label, der: content.der }, faults, normalised }
}

function checkLabels(opening: string, closing: string): Fault[] {
  if (opening === closing) return []
  const detail =
    'The BEGIN line and the END line have different labels. Copy the key again, both lines as they are.'
  return [fault('pem_label_mismatch', detail)]
}

function checkSurroundings(before: string, after: string): Fault[] {
  const places: string[] = []
  if (before.trim() !== '') places.push('before')
  if (after.trim() !== '') places.push('after')
  if (places.length === 0) return []
  const where = places.join(' and ')
  return [fault('pem_extra_text', `Remove the text ${where} the PEM block and send it again.`)]
}

function isTaken(label: string): label is PemLabel {
  return label === 'PUBLIC KEY' || label === 'RSA PUBLIC KEY'
}

function checkLabel(label: string): Fault[] {
  if (isTaken(label)) return []
  const known = labelNames.find((name) => name === label)
  const what = known === undefined ? 'A block with this label' : `A block labelled ${known}`
  const wanted = 'The label must be PUBLIC KEY (or RSA PUBLIC KEY for PKCS#1).'
  const advice =
    label === 'EC PUBLIC KEY'
      ? 'Export the key again: openssl ec -pubin -in key.pem -pubout'
      : 'Export the public key: openssl pkey -in private.pem -pubout'
  return [fault('pem_label_unsupported', `${what} cannot be used. ${wanted} ${advice}`)]
}

/** Labels that may be named in an answer: every other one is the caller's text. */
const labelNames = [
  'EC PUBLIC KEY',
  'DSA PUBLIC KEY',
  'ED25519 PUBLIC KEY',
  'PKCS7',
  'CMS',
  'DH PARAMETERS',
  'X9.42 DH PARAMETERS',
  'DSA PARAMETERS',
  'EC PARAMETERS',
  'X509 CRL',
  'ATTRIBUTE CERTIFICATE',
  'SSL SESSION PARAMETERS',
] as const

function readBody(body: string, normalised: Set<Repair>): { der?: Uint8Array; faults: Fault[] } {
  const lines = body.split('\n').map((line) => line.trim())
  const filled = lines.filter((line) => line !== '')
  if (/^[A-Za-z0-9-]+:/.test(filled[0] ?? '')) {
    const detail =
      'Headers (Proc-Type, DEK-Info, Comment and the like) are not allowed in a public key. Remove them, or export the key again: openssl pkey -pubin -in key.pem -pubout'
    return { faults: [fault('pem_headers_unsupported', detail)] }
  }
  const chunks = filled.flatMap((line) => line.split(/[\t ]+/))
  noteLayout(body, filled, chunks, normalised)
  if (filled.some((line) => /[\t ]/.test(line)) && !isEvenlyCut(chunks)) {
    const detail =
      'There are blanks inside the base64 lines. If the key was sent as a form, every + has become a blank: encode it, or send JSON.'
    return { faults: [fault('pem_base64_invalid', detail)] }
  }
  return decodeBase64(chunks.join(''))
}

/** Line breaks that became blanks leave pieces of one length; lost characters do not. */
function isEvenlyCut(chunks: string[]): boolean {
  const width = chunks[0]?.length
  const last = chunks.at(-1)
  if (width === undefined || last === undefined) return true
  return last.length <= width && chunks.slice(0, -1).every((chunk) => chunk.length === width)
}

function noteLayout(
  body: string,
  filled: string[],
  chunks: string[],
  normalised: Set<Repair>,
): void {
  const lines = body.split('\n')
  const isApart = lines[0]?.trim() === '' && lines.length > 1 && lines.at(-1)?.trim() === ''
  if (!isApart || chunks.length > filled.length) normalised.add('line_breaks')
  const hasOuterBlanks = lines.some((line) => /^[\t ]|[\t ]$/.test(line))
  const hasBlankLines = lines.length > filled.length + 2
  if (lines.length > 1 && (hasOuterBlanks || hasBlankLines)) normalised.add('white_space')
  if (chunks.join('\n') !== wrap(chunks.join(''))) normalised.add('line_width')
}

/** What a character outside the alphabet tells about the way that the text came. */
const damageAdvice: readonly { characters: string; advice: string }[] = [
  {
    characters: '-_',
    advice: 'It uses the URL-safe alphabet (- and _): use + and / in their place.',
  },
  {
    characters: '\\',
    advice: 'It holds backslashes: turn each written-out \\n into a real line break.',
  },
  { characters: '%', advice: 'It is URL-encoded: decode it.' },
  { characters: '<&', advice: 'It holds HTML: copy the text from the page, not its source.' },
]

/** Strict base64 (RFC 4648 section 4): one text for one sequence of bytes. */
function decodeBase64(text: string): { der?: Uint8Array; faults: Fault[] } {
  const damaged = (detail: string) => ({ faults: [fault('pem_base64_invalid', detail)] })
  const again = 'Copy the key again, from its file.'
  const bad = text.replace(/={1,2}$/, '').search(/[^A-Za-z0-9+/]/)
  if (bad >= 0) {
    const why = damageAdvice.find(({ characters }) => characters.includes(text[bad] ?? ''))?.advice
    return damaged(`The base64 text is damaged at its character ${bad + 1}. ${why ?? again}`)
  }
  if (text.length % 4 !== 0) {
    return damaged(
      `The base64 text has ${text.length} characters, which is no multiple of 4: some are missing or too many. ${again}`,
    )
  }
  const der = Buffer.from(text, 'base64')
  if (der.toString('base64') !== text) {
    return damaged(
      `The last character of the base64 text is damaged (RFC 4648 section 3.5). ${again}`,
    )
  }
  return { der, faults: [] }
}

function wrap(base64: string): string {
  return (base64.match(new RegExp(`.{1,${CANONICAL_WIDTH}}`, 'g')) ?? []).join('\n')
}

/** Canonical SPKI PEM: `PUBLIC KEY`, 64 columns, LF, one final LF (RFC 7468 sections 2 and 13). */
export function writePem(spki: Uint8Array): string {
  const body = wrap(Buffer.from(spki).toString('base64'))
  return `-----BEGIN PUBLIC KEY-----\n${body}\n-----END PUBLIC KEY-----\n`
}
