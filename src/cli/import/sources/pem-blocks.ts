import { normalizeText } from '../../../intake/encoding/text.ts'
import { convert, type EntryContent, privateEntry, type SourceEntry, stem } from './entry.ts'

interface Block {
  /** The label of the block: `PUBLIC KEY`. */
  kind: string
  text: string
  /** The lines before it that belong to no block. */
  comments: string[]
  complete: boolean
}

const begin = /^[\t ]*-----BEGIN ([^-\r\n]+)-----/
const end = /-----END [^-\r\n]+-----[\t ]*$/

/**
 * The keys of a text, one per PEM block. The label of a key is the last comment line before its
 * block, without `#`, `//` or `;`, or else the name of the file.
 */
export function readPemBlocks(text: string, name: string): SourceEntry[] {
  const blocks = parseBlocks(text)
  const count = blocks.length
  return blocks.map((block, index) => {
    const place = count === 1 ? name : `${name}, block ${index + 1}`
    const fallback = count === 1 ? stem(name) : `${stem(name)} ${index + 1}`
    const label = commentOf(block) ?? fallback
    const secret = privateEntry(`${label}\n${block.text}`, place, fallback)
    return secret ?? { place, label, ...readBlock(block, place, count === 1) }
  })
}

function parseBlocks(text: string): Block[] {
  const blocks: Block[] = []
  let comments: string[] = []
  let open: Block | undefined
  for (const line of normalizeText(text).text.split('\n')) {
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

function readBlock({ kind, text, complete }: Block, place: string, isOnly: boolean): EntryContent {
  if (!complete) {
    const detail = 'The block has no END line: the file is truncated. Copy it again.'
    return { rejection: { code: 'pem_incomplete', detail } }
  }
  if (!kind.includes('CERTIFICATE')) return { key: { publicKeyPem: text } }
  if (!isOnly) {
    const detail =
      'This is a certificate among other blocks. It may belong to an authority, whose key must not be registered. Provide the public key itself: openssl x509 -in cert.pem -noout -pubkey'
    return { rejection: { code: 'certificate_submitted', detail } }
  }
  return convert(Buffer.from(text), place) ?? { key: { publicKeyPem: text } }
}

function commentOf({ comments }: Block): string | undefined {
  const last = comments.at(-1) ?? ''
  // openssl pkcs12 writes friendlyName without a comment marker.
  const label = last.replace(/^(?:(?:#+|\/\/+|;+|--+)\s?|friendlyName:\s*)/, '').trim()
  return label === '' ? undefined : label
}
