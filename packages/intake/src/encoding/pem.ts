import { commands } from '../commands.ts'
import { adviseContent, contentOf } from '../formats/content.ts'
import type { Fault, Repair } from '../types.ts'
import { describeDocument, describeMissingPem } from './hints.ts'
import { wrap } from './pem-writer.ts'
import { normalizeText } from './text.ts'

export type PemLabel = 'PUBLIC KEY' | 'RSA PUBLIC KEY'

export interface Pem {
  label: PemLabel
  der: Uint8Array
}

interface PemReading {
  /** Present if there are no faults. */
  pem?: Pem
  faults: Fault[]
  repairs: Set<Repair>
}

const begin = /(?<!-)-----BEGIN ([A-Z0-9][A-Z0-9 ]*)-----(?!-)/
const end = /(?<!-)-----END ([A-Z0-9][A-Z0-9 ]*)-----(?!-)/

/** A block split at its boundaries. */
interface Block {
  label: string
  endLabel: string
  before: string
  body: string
  after: string
}

/**
 * Reads exactly one PEM block of a public key (RFC 7468). The text must have passed
 * `checkCharacters`; it gets the lossless repairs that `repairs` lists and no others.
 */
export function readPem(original: string): PemReading {
  const { text, repairs } = normalizeText(original)
  const block = findBlock(text)
  if ('code' in block) return { faults: [block], repairs }
  const { label, body } = block
  const content = readBody(body, repairs)
  const faults = [
    ...checkEndLabel(block),
    ...content.faults,
    ...checkSurroundings(block),
    ...checkLabel(label, content.der),
  ]
  if (faults.length > 0 || content.der === undefined || !isSupported(label)) {
    return { faults, repairs }
  }
  return { pem: { label, der: content.der }, faults, repairs }
}

function findBlock(text: string): Block | Fault {
  const head = begin.exec(text)
  if (head?.[1] === undefined) return { code: 'pem_not_found', detail: describeMissingPem(text) }
  const document = describeDocument(text)
  if (document !== undefined) return { code: 'pem_extra_text', detail: document }
  const blocks = text.split('-----BEGIN ').length - 1
  if (blocks > 1) {
    const detail = `The text contains ${blocks} PEM blocks. Send one key per request.`
    return { code: 'pem_multiple_blocks', detail }
  }
  const start = head.index + head[0].length
  const foot = end.exec(text.slice(start))
  if (foot?.[1] === undefined) {
    const detail =
      'The END line is missing or incomplete. Copy the whole key, from the BEGIN line to the END line.'
    return { code: 'pem_end_missing', detail }
  }
  return {
    label: head[1],
    endLabel: foot[1],
    before: text.slice(0, head.index),
    body: text.slice(start, start + foot.index),
    after: text.slice(start + foot.index + foot[0].length),
  }
}

function checkEndLabel({ label, endLabel }: Block): Fault[] {
  if (label === endLabel) return []
  const detail =
    'The BEGIN line and the END line have different labels. Copy the key again, with both lines.'
  return [{ code: 'pem_label_mismatch', detail }]
}

function checkSurroundings({ before, after }: Block): Fault[] {
  const places: string[] = []
  if (before.trim() !== '') places.push('before')
  if (after.trim() !== '') places.push('after')
  if (places.length === 0) return []
  const detail = `Remove the text ${places.join(' and ')} the PEM block.`
  const found = wrappings.find(([pattern]) => pattern.test(before.trim()))?.[1]
  return [{ code: 'pem_extra_text', detail: found === undefined ? detail : `${found}. ${detail}` }]
}

/** Text in front of a block that shows where the block was copied from. */
const wrappings: readonly [before: RegExp, found: string][] = [
  [/^'$/, 'There are single quotes around the block'],
  [/^```/, 'This is a block of code in Markdown'],
  [
    /[=:]\s*(?:[brf]?["'`]{1,3}|[|>][+-]?)?$/i,
    'This is an assignment of the key in source text or YAML',
  ],
]

function isSupported(label: string): label is PemLabel {
  return label === 'PUBLIC KEY' || label === 'RSA PUBLIC KEY'
}

function checkLabel(label: string, der?: Uint8Array): Fault[] {
  if (isSupported(label)) return []
  const name = quotableLabels.find((known) => known === label)
  if (name !== undefined && /PARAMETERS$|CRL$|ATTRIBUTE/.test(name)) {
    const detail = `A block with the label ${name} holds no public key. Export the public key: ${commands.exportPublic}`
    return [{ code: 'pem_label_unsupported', detail }]
  }
  const found = `${name === undefined ? 'The label' : `The label ${name}`} is not supported`
  const content = der && contentOf(der)
  const detail =
    content === undefined || name === undefined
      ? `${found}. It must be PUBLIC KEY, or RSA PUBLIC KEY for PKCS#1. Export the public key: ${commands.exportPublic}`
      : `${found}. The content is ${adviseContent(content)}`
  return [{ code: 'pem_label_unsupported', detail }]
}

/** Labels that a detail may quote; every other one is the caller's text. */
const quotableLabels = [
  'EC PUBLIC KEY',
  'DSA PUBLIC KEY',
  'ED25519 PUBLIC KEY',
  'OPENSSH PUBLIC KEY',
  'SSH2 PUBLIC KEY',
  'CERTIFICATE',
  'CERTIFICATE REQUEST',
  'PKCS7',
  'PKCS12',
  'CMS',
  'DH PARAMETERS',
  'X9.42 DH PARAMETERS',
  'DSA PARAMETERS',
  'EC PARAMETERS',
  'X509 CRL',
  'ATTRIBUTE CERTIFICATE',
  'SSL SESSION PARAMETERS',
] as const

type Body = { der?: Uint8Array; faults: Fault[] }

function readBody(body: string, repairs: Set<Repair>): Body {
  const lines = body.split('\n').map((line) => line.trim())
  const nonBlank = lines.filter((line) => line !== '')
  if (/^[A-Za-z0-9-]+:/.test(nonBlank[0] ?? '')) {
    const detail = `A public key must not have PEM headers such as Proc-Type, DEK-Info or Comment. Remove them, or export the key again: ${commands.exportPublic}`
    return { faults: [{ code: 'pem_headers_unsupported', detail }] }
  }
  const chunks = nonBlank.flatMap((line) => line.split(/[\t ]+/))
  recordLayoutRepairs(body, nonBlank, chunks, repairs)
  if (nonBlank.some((line) => /[\t ]/.test(line)) && !haveEqualWidth(chunks)) {
    return damagedBase64(
      'There are spaces inside the base64 lines.',
      nonBlank[0]?.startsWith('>')
        ? 'The text is quoted as in mail: remove the > before each line.'
        : 'If a form sent the key, every + became a space: URL-encode it, or send JSON.',
    )
  }
  return decodeBase64(chunks.join(''))
}

/** Line breaks that became spaces leave chunks of one width; lost characters do not. */
function haveEqualWidth(chunks: string[]): boolean {
  const width = chunks[0]?.length
  const last = chunks.at(-1)
  if (width === undefined || last === undefined) return true
  return last.length <= width && chunks.slice(0, -1).every((chunk) => chunk.length === width)
}

/** Records how the layout of the body differs from the canonical one. */
function recordLayoutRepairs(
  body: string,
  nonBlank: string[],
  chunks: string[],
  repairs: Set<Repair>,
): void {
  const lines = body.split('\n')
  const isSeparate = lines[0]?.trim() === '' && lines.length > 1 && lines.at(-1)?.trim() === ''
  if (!isSeparate || chunks.length > nonBlank.length) repairs.add('line_breaks')
  const hasOuterSpaces = lines.some((line) => /^[\t ]|[\t ]$/.test(line))
  const hasBlankLines = lines.length > nonBlank.length + 2
  if (lines.length > 1 && (hasOuterSpaces || hasBlankLines)) repairs.add('white_space')
  if (chunks.join('\n') !== wrap(chunks.join(''))) repairs.add('line_width')
}

/** Advice for characters that reveal how the text was changed in transport. */
const characterAdvice: readonly [characters: string, advice: string][] = [
  ['-_', 'It uses the URL-safe alphabet: replace - with + and _ with /.'],
  [
    '\\',
    'It contains backslashes: replace each literal \\n with a line break, and remove the others.',
  ],
  ['%', 'It is URL-encoded: decode it.'],
  ['<&', 'It contains HTML: copy the text of the page, not its source.'],
]

/** Strict base64 (RFC 4648 section 4): each sequence of bytes has one encoding. */
function decodeBase64(text: string): Body {
  const invalid = text.replace(/={1,2}$/, '').search(/[^A-Za-z0-9+/]/)
  if (invalid >= 0) {
    const character = text[invalid] ?? ''
    return damagedBase64(
      `The base64 text is invalid at character ${invalid + 1}.`,
      characterAdvice.find(([characters]) => characters.includes(character))?.[1],
    )
  }
  if (text.length % 4 !== 0) {
    return damagedBase64(
      `The base64 text has ${text.length} characters, which is not a multiple of 4.`,
    )
  }
  const der = Buffer.from(text, 'base64')
  if (der.toString('base64') === text) return { der, faults: [] }
  return damagedBase64('The base64 text has non-zero unused bits (RFC 4648 section 3.5).')
}

function damagedBase64(finding: string, advice = 'Copy the key from its file again.'): Body {
  return { faults: [{ code: 'pem_base64_invalid', detail: `${finding} ${advice}` }] }
}
