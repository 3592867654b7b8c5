/** One way to read the submitted text: as characters, or as the bytes that it encodes. */
export type View = { text: string } | { bytes: Uint8Array }

const MAX_VIEWS = 32
const MAX_SEGMENTS = 64
const boundary = /-----[^-]{0,64}-----|-{2,}/g
/** base64 of `-----BEGIN` at its three alignments, and of `{"`, `{ ` and `{` with a line break. */
const encodedText = /LS0tLS1|0tLS0t|tLS0tL|eyJ|eyA|ewo|ew0K/g

/**
 * Every reading of a text that a careless paste or a clever one may need: escapes undone, URL and
 * HTML encoding, UTF-16, quoted-printable, base64 and hexadecimal, one within the other. Bounded in
 * number; a text of ordinary PEM has two or three.
 */
export function viewsOf(text: string): View[] {
  const views: View[] = [{ text }]
  const seen = new Set([markOf({ text })])
  for (let index = 0; index < views.length && views.length < MAX_VIEWS; index += 1) {
    const view = views[index]
    if (view === undefined) break
    for (const next of 'text' in view ? readingsOf(view.text) : textsIn(view.bytes)) {
      const mark = markOf(next)
      if (seen.has(mark) || views.length >= MAX_VIEWS) continue
      seen.add(mark)
      views.push(next)
    }
  }
  return views
}

function markOf(view: View): string {
  if ('text' in view) return `text ${view.text}`
  return `bytes ${Buffer.from(view.bytes).toString('latin1')}`
}

function textsIn(bytes: Uint8Array): View[] {
  const sample = bytes.subarray(0, 512)
  const readable = sample.filter(
    (byte) => byte === 0 || byte === 9 || byte === 10 || byte === 13 || (byte >= 32 && byte < 127),
  )
  if (readable.length * 10 < sample.length * 9) return []
  return [{ text: Buffer.from(bytes).toString('latin1') }]
}

function* readingsOf(text: string): Generator<View> {
  if (/[^\t\n\r\x20-\x7e]/.test(text)) yield* readUnusual(text)
  if (text.includes('\\')) yield { text: undoEscapes(text) }
  if (/%[0-9A-Fa-f]{2}/.test(text)) yield { text: decodePercent(text) }
  if (/&#?\w+;|<\w/.test(text)) yield { text: decodeHtml(text) }
  if (/=\r?\n|=3D/.test(text)) yield { text: decodeQuotedPrintable(text) }
  yield* readHex(text)
  yield* readBase64(text)
}

/** Characters that are none of PEM: UTF-16 read as something else, full width, raw bytes. */
function* readUnusual(text: string): Generator<View> {
  const plain = text.normalize('NFKC').replace(/[^\t\n\r\x20-\x7e]/g, '')
  yield { text: plain }
  if (/^[\0-\xff]*$/.test(text)) yield { bytes: Buffer.from(text, 'latin1') }
  if (!/[\u0100-\uffff]/.test(text)) return
  const pairs = Buffer.from(text, 'utf16le')
  yield { text: pairs.toString('latin1').replace(/[^\t\n\r\x20-\x7e]/g, '') }
  yield {
    text: pairs
      .swap16()
      .toString('latin1')
      .replace(/[^\t\n\r\x20-\x7e]/g, ''),
  }
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '', f: '' }

function undoEscapes(text: string): string {
  return text.replace(/\\+(u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|\r?\n|.)/g, (_whole, what: string) => {
    if (what.length > 2) return String.fromCharCode(Number.parseInt(what.slice(1), 16))
    return escapes[what] ?? what
  })
}

function decodePercent(text: string): string {
  return text.replace(/%([0-9A-Fa-f]{2})/g, (_whole, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

function decodeHtml(text: string): string {
  return text
    .replace(/<[^<>]{1,64}>/g, '\n')
    .replace(/&quot;/g, '"')
    .replace(/&nbsp;/g, ' ')
    .replace(/&#(\d{1,5});/g, (_whole, code: string) => String.fromCharCode(Number(code)))
    .replace(/&#x([0-9A-Fa-f]{1,4});/g, (_whole, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
}

function decodeQuotedPrintable(text: string): string {
  return text
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_whole, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
}

function* readHex(text: string): Generator<View> {
  const dump = text.replace(/^[0-9A-Fa-f]{4,8}:?[ \t]+/gm, '').replace(/ {2}\S.{0,18}$/gm, '')
  for (const source of new Set([text, dump])) {
    const digits = source.replace(/0x|\\x|[\s:,]/gi, '')
    for (const [run] of digits.matchAll(/[0-9A-Fa-f]{32,}/g)) {
      const bytes = Buffer.from(run.slice(0, run.length - (run.length % 2)), 'hex')
      if (bytes.length === run.length >> 1) yield { bytes }
    }
  }
}

/** Bytes of the base64 texts, either alphabet; white space and boundaries do not count. */
function* readBase64(text: string): Generator<View> {
  const segments = text.replace(boundary, '|').split(/[^A-Za-z0-9+/_\s-]+/)
  let count = 0
  for (const raw of segments) {
    const segment = raw.replace(/\s+/g, '')
    if (segment.length < 16 || count >= MAX_SEGMENTS) continue
    count += 1
    yield { bytes: Buffer.from(segment, 'base64') }
    for (const start of startsOf(segment)) {
      yield { bytes: Buffer.from(segment.slice(start), 'base64') }
    }
  }
}

/** Where a text or a SEQUENCE with a private shape may begin within glued base64. */
function startsOf(segment: string): number[] {
  const starts: number[] = []
  for (const { index } of segment.matchAll(encodedText)) if (index > 0) starts.push(index)
  return starts.slice(0, 8)
}

/** Offsets of base64 that begins with a SEQUENCE, in each run of base64 characters. */
export function* sequencesIn(text: string): Generator<Uint8Array> {
  for (const raw of text.replace(boundary, '|').split(/[^A-Za-z0-9+/_\s-]+/)) {
    const segment = raw.replace(/\s+/g, '')
    for (let at = segment.indexOf('M'); at >= 0; at = segment.indexOf('M', at + 1)) {
      const next = segment.charCodeAt(at + 1)
      const isSequence = next >= 65 && next <= 80
      if (isSequence) yield Buffer.from(segment.slice(at, at + 64), 'base64')
    }
  }
}
