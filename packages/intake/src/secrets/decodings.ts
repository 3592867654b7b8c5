import { decodeBase64, decodeHex, decodeLatin1, encodeLatin1, encodeUtf16 } from './bytes.ts'

/** One decoding of the submitted text: characters, or bytes with the text that they were read from. */
export type Decoding = { text: string } | { bytes: Uint8Array; source: string }

const maxDecodings = 32
const maxBase64Runs = 64
const minBase64Length = 16
/** A character that no PEM text contains. */
const unusual = /[^\t\n\r\x20-\x7e]/
const unusualAll = new RegExp(unusual, 'g')
/** base64 of `-----BEGIN` at its three alignments, and of `{"`, `{ ` and `{` with a line break. */
const encodedStart = /LS0tLS1|0tLS0t|tLS0tL|eyJ|eyA|ewo|ew0K/g
const maxEncodedStarts = 8

/**
 * Every decoding of a text that a paste through another tool, or an attempt to hide a key, may need:
 * string escapes, URL and HTML encoding, UTF-16, quoted-printable, base64 and hexadecimal, nested in
 * each other. At most 32; ordinary PEM has two or three.
 */
export function decodingsOf(text: string): Decoding[] {
  const decodings: Decoding[] = [{ text }]
  const seen = new Set([keyOf({ text })])
  for (const decoding of decodings) {
    const nested = 'text' in decoding ? decodeText(decoding.text) : decodeBytes(decoding.bytes)
    for (const next of nested) {
      const key = keyOf(next)
      if (seen.has(key)) continue
      if (decodings.length >= maxDecodings) return decodings
      seen.add(key)
      decodings.push(next)
    }
  }
  return decodings
}

function keyOf(decoding: Decoding): string {
  return 'text' in decoding ? `text ${decoding.text}` : decoding.source
}

/** Bytes as text, if most of the first 512 are printable ASCII or NUL. */
function decodeBytes(bytes: Uint8Array): Decoding[] {
  const sample = bytes.subarray(0, 512)
  let printable = 0
  for (const byte of sample) {
    if ((byte >= 32 && byte < 127) || byte === 0 || byte === 9 || byte === 10 || byte === 13) {
      printable += 1
    }
  }
  return printable * 10 < sample.length * 9 ? [] : [{ text: decodeLatin1(bytes) }]
}

function* decodeText(text: string): Generator<Decoding> {
  if (unusual.test(text)) yield* decodeUnusual(text)
  if (text.includes('\\')) yield { text: decodeEscapes(text) }
  if (/%[0-9A-Fa-f]{2}/.test(text)) yield { text: decodeHexEscapes(text, /%([0-9A-Fa-f]{2})/g) }
  if (/&#?\w+;|<\w/.test(text)) yield { text: decodeHtml(text) }
  if (/=\r?\n|=3D/.test(text)) {
    yield { text: decodeHexEscapes(text.replace(/=\r?\n/g, ''), /=([0-9A-F]{2})/g) }
  }
  yield* decodeHexDigits(text)
  yield* decodeBase64Runs(text)
}

/** Decodes text with full-width characters, raw bytes, or UTF-16 that was read in another encoding. */
function* decodeUnusual(text: string): Generator<Decoding> {
  yield { text: text.normalize('NFKC').replace(unusualAll, '') }
  if (/^[\0-\xff]*$/.test(text)) yield { bytes: encodeLatin1(text), source: `Latin-1 ${text}` }
  else {
    for (const order of ['little', 'big'] as const) {
      yield { text: decodeLatin1(encodeUtf16(text, order)).replace(unusualAll, '') }
    }
  }
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '', f: '' }

function decodeEscapes(text: string): string {
  return text.replace(/\\+(u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|\r?\n|.)/g, (_all, code: string) => {
    if (code.length > 2) return String.fromCharCode(Number.parseInt(code.slice(1), 16))
    return escapes[code] ?? code
  })
}

/** Replaces escapes whose first group is a hexadecimal code. */
function decodeHexEscapes(text: string, pattern: RegExp): string {
  return text.replace(pattern, (_all, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
}

function decodeHtml(text: string): string {
  const decoded = text
    .replace(/<[^<>]{1,64}>/g, '\n')
    .replace(/&quot;/g, '"')
    .replace(/&nbsp;/g, ' ')
    .replace(/&#(\d{1,5});/g, (_all, digits: string) => String.fromCharCode(Number(digits)))
  return decodeHexEscapes(decoded, /&#x([0-9A-Fa-f]{1,4});/g)
}

/** Runs of hexadecimal digits, in the text as it is and without the other columns of a hex dump. */
function* decodeHexDigits(text: string): Generator<Decoding> {
  const dump = text.replace(/^[0-9A-Fa-f]{4,8}:?[ \t]+/gm, '').replace(/ {2}\S.{0,18}$/gm, '')
  for (const source of new Set([text, dump])) {
    const digits = source.replace(/0x|\\x|[\s:,]/gi, '')
    for (const [run] of digits.matchAll(/[0-9A-Fa-f]{32,}/g)) {
      yield { bytes: decodeHex(run), source: `hex ${run}` }
    }
  }
}

function* decodeBase64Runs(text: string): Generator<Decoding> {
  let count = 0
  for (const run of base64RunsIn(text)) {
    if (run.length < minBase64Length || count >= maxBase64Runs) continue
    count += 1
    for (const start of [0, ...encodedStartsIn(run)]) {
      const source = run.slice(start)
      yield { bytes: decodeBase64(source), source: `base64 ${source}` }
    }
  }
}

/** Offsets in a base64 run where an encoded text may begin after other characters. */
function encodedStartsIn(run: string): number[] {
  const starts = Array.from(run.matchAll(encodedStart), ({ index }) => index)
  return starts.filter((start) => start > 0).slice(0, maxEncodedStarts)
}

/**
 * base64 of a SEQUENCE (0x30) that may hold a private key: with a length of up to 127, which an
 * INTEGER or a SEQUENCE follows (`Cw`), or with a length of several bytes (`I`).
 */
const sequenceStart = /M(?=[A-H].[Cw]|I)/g

/** Everything in the text that may be base64 of a private key structure, with what follows it. */
export function* sequencesIn(text: string): Generator<string> {
  for (const run of base64RunsIn(text)) {
    for (const { index } of run.matchAll(sequenceStart)) yield run.slice(index)
  }
}

/** Runs of characters of either base64 alphabet, without line breaks and spaces; PEM boundaries end a run. */
function* base64RunsIn(text: string): Generator<string> {
  const boundary = /-----[^-]{0,64}-----|-{2,}/g
  for (const run of text
    .replace(boundary, '|')
    .replace(/\\[rn]/g, ' ')
    .split(/[^A-Za-z0-9+/_\s-]+/)) {
    yield run.replace(/\s+/g, '')
  }
}
