import { toPem } from '../../keys/conversion.ts'
import { CommandError } from '../../terminal/failures.ts'
import { privateEntry, refusedEntry, type SourceEntry, stem } from './entry.ts'

interface Block {
  /** Between BEGIN and END: `PUBLIC KEY`. */
  kind: string
  text: string
  /** The lines before it that belong to no block. */
  comments: string[]
  complete: boolean
}

const begin = /^[\t ]*-----BEGIN ([^-\r\n]+)-----/
const end = /-----END [^-\r\n]+-----[\t ]*$/

/**
 * The keys of a text with PEM blocks: each block is one, and what stands between them is comment. Its
 * label is the last line of comment before it, without `#`, `//` or `;`, else the name of the file.
 */
export function readPemBlocks(text: string, name: string): SourceEntry[] {
  const blocks = blocksOf(text)
  return blocks.map((block, index) => entryOf(block, { name, index, count: blocks.length }))
}

function blocksOf(text: string): Block[] {
  const blocks: Block[] = []
  let comments: string[] = []
  let open: Block | undefined
  for (const line of text.replace(/^\uFEFF/, '').split(/\r\n?|\n/)) {
    const [, kind] = begin.exec(line) ?? []
    if (kind !== undefined) {
      open = { kind, text: '', comments, complete: false }
      blocks.push(open)
      comments = []
    }
    if (open === undefined) {
      if (line.trim() !== '') comments.push(line.trim())
      continue
    }
    open.text += `${line}\n`
    if (end.test(line)) {
      open.complete = true
      open = undefined
    }
  }
  return blocks
}

/** Where a block stands. */
interface Position {
  name: string
  index: number
  count: number
}

function entryOf(block: Block, { name, index, count }: Position): SourceEntry {
  const place = count === 1 ? name : `${name}, block ${index + 1}`
  const fallback = count === 1 ? stem(name) : `${stem(name)} ${index + 1}`
  const label = commentOf(block) ?? fallback
  const secret = privateEntry(`${label}\n${block.text}`, place, fallback)
  if (secret !== undefined) return secret
  if (!block.complete) {
    const detail = 'The block has no END line: the file was cut. Copy it again.'
    return refusedEntry(place, label, { code: 'pem_incomplete', detail })
  }
  if (!/CERTIFICATE/.test(block.kind)) return { place, label, key: { publicKeyPem: block.text } }
  return certificateEntry(block, { place, label, count })
}

/** One certificate stands for its key; of a chain only the first one would be meant. */
function certificateEntry(
  { text }: Block,
  { place, label, count }: { place: string; label: string; count: number },
): SourceEntry {
  if (count > 1) {
    const detail =
      'This is a certificate among other blocks, perhaps of an authority, whose key must not count here. Give the public key itself: openssl x509 -in cert.pem -noout -pubkey'
    return refusedEntry(place, label, { code: 'certificate_submitted', detail })
  }
  return converted(() => toPem(text, place).publicKeyPem, place, label)
}

/** The entry of what becomes PEM here. */
export function converted(convert: () => string, place: string, label: string): SourceEntry {
  try {
    return { place, label, key: { publicKeyPem: convert() } }
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    return refusedEntry(place, label, { code: error.code, detail: error.message })
  }
}

function commentOf({ comments }: Block): string | undefined {
  const last = comments.at(-1) ?? ''
  // What openssl pkcs12 writes has no mark of a comment before it.
  const label = last.replace(/^(?:(?:#+|\/\/+|;+|--+)\s?|friendlyName:\s*)/, '').trim()
  return label === '' ? undefined : label
}
