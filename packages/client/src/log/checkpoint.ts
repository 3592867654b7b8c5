import { type Bytes, fromBase64, toBase64 } from './encoding.ts'
import { LogError } from './errors.ts'

/** The state of a log's tree (C2SP tlog-checkpoint): `root` is its Merkle tree hash (RFC 6962). */
export type Checkpoint = { origin: string; size: number; root: Bytes }

/** A proof that an entry is in the tree of a checkpoint (C2SP tlog-proof). */
export type InclusionProof = {
  /** Data that the format leaves to applications; the proof does not cover it. */
  extra?: Bytes
  index: number
  /** The hashes beside the path from the entry to the root, beginning at the entry. */
  hashes: Bytes[]
  /** A signed note, whose text is a checkpoint. */
  checkpoint: string
}

/**
 * A proof that the tree of a checkpoint extends that of an older one. As text, it is the body of
 * `add-checkpoint` (C2SP tlog-witness).
 */
type ConsistencyProof = { oldSize: number; hashes: Bytes[]; checkpoint: string }

const proofHeader = 'c2sp.org/tlog-proof@v1'

/** The text of the checkpoint, which becomes a note when it is signed. */
export function formatCheckpoint({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${toBase64(root)}\n`
}

/** Parses the text of a note; ignores extension lines. Throws `malformed`. */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', size = '', root = '', ...rest] = text.split('\n')
  const extensions = rest.slice(0, -1)
  const parsed = { origin, size: parseWholeNumber(size), root: parseHash(root) }
  if (origin === '' || rest.at(-1) !== '' || extensions.includes('')) throw malformed('checkpoint')
  return parsed
}

export function formatProof({ extra, index, hashes, checkpoint }: InclusionProof): string {
  const extraLines = extra === undefined ? [] : [`extra ${toBase64(extra)}`]
  const lines = [proofHeader, ...extraLines, `index ${index}`, ...hashes.map(toBase64)]
  return `${lines.join('\n')}\n\n${checkpoint}`
}

/** Throws `malformed`. The checkpoint is neither parsed nor verified. */
export function parseProof(text: string): InclusionProof {
  const end = text.indexOf('\n\n')
  const [header, ...lines] = text.slice(0, end).split('\n')
  const [, extraText] = /^extra (.*)$/.exec(lines[0] ?? '') ?? []
  if (extraText !== undefined) lines.shift()
  const extra = extraText === undefined ? undefined : fromBase64(extraText)
  const [, index = ''] = /^index (.+)$/.exec(lines.shift() ?? '') ?? []
  const isExtra = extraText === undefined || extra !== undefined
  if (header !== proofHeader || end < 0 || !isExtra) throw malformed('proof')
  return {
    ...(extra === undefined ? {} : { extra }),
    index: parseWholeNumber(index),
    hashes: lines.map(parseHash),
    checkpoint: text.slice(end + 2),
  }
}

export function formatConsistency({ oldSize, hashes, checkpoint }: ConsistencyProof): string {
  return `${[`old ${oldSize}`, ...hashes.map(toBase64)].join('\n')}\n\n${checkpoint}`
}

/** Parses a number without leading zeros, as the specifications require. */
export function parseWholeNumber(text: string): number {
  const number = Number(text)
  if (/^(0|[1-9]\d*)$/.test(text) && Number.isSafeInteger(number)) return number
  throw malformed('number')
}

/** A SHA-256 in base64. Throws `malformed`. */
export function parseHash(text: string): Bytes {
  const bytes = fromBase64(text)
  if (bytes?.length === 32) return bytes
  throw malformed('hash')
}

const specifications = {
  checkpoint: 'This is not a checkpoint (https://c2sp.org/tlog-checkpoint).',
  proof: 'This is not a proof of a log (https://c2sp.org/tlog-proof).',
  number: 'A number of a checkpoint or proof is not a whole number.',
  hash: 'A hash of a checkpoint or proof is not a SHA-256 in base64.',
}

function malformed(kind: keyof typeof specifications): LogError {
  return new LogError('malformed', specifications[kind])
}
