import {
  type Checkpoint,
  formatProof,
  type InclusionProof,
  parseCheckpoint,
  parseHash,
  parseProof,
} from './checkpoint.ts'
import { type Bytes, fromBase64, toBase64, toHex, utf8 } from './encoding.ts'
import { LogError } from './errors.ts'
import { mapLeaf, mapRoot } from './heads-map.ts'
import { blindedLedgerId, entryKey, formatEntry } from './leaf.ts'
import { datingKey, parseNote, type VerifierKey, verifyNote } from './note.ts'
import { type Publication, parsePublication } from './publication.ts'
import { leafHash, type TreeHead, verifyInclusion } from './tree.ts'

/** Shows that an entry is of the ledger: by its blinding value, or by the key of this entry alone. */
type Opening = { blinding: Bytes } | { key: Bytes }

/** The head of a ledger at a time, as the log has it. */
export type LoggedHead = { ledgerId: string; revision: number; head: string; time: string }

/**
 * Shows that no later entry of the log is of the ledger: the last entry of the tree has the root of a map with
 * the last entry of each ledger.
 */
export type LastHead = {
  /** The time of the last entry of the tree. */
  time: string
  /** The hashes beside the path from this entry to the root of the tree. */
  hashes: Bytes[]
  /** The hashes beside the path from the leaf of the ledger to the root of the map. */
  path: Bytes[]
}

/** A proof that a head of a ledger is in the log. As text it is a C2SP tlog-proof. */
export type LedgerProof = { head: LoggedHead; opening: Opening } & Omit<InclusionProof, 'extra'> & {
    /** What the project publishes from this event on; in public proofs. */
    publication?: Publication
    /** In public proofs. */
    last?: LastHead
  }

/** Whose signatures a checkpoint must have. */
export type TrustedKeys = {
  /** The log's verifier key. Its name is the log's origin. */
  log: VerifierKey
  witnesses?: readonly VerifierKey[]
  /** How many of the witnesses must have cosigned. Default: all. */
  quorum?: number
}

/** A checkpoint with valid signatures; times are in seconds since 1970. */
export type VerifiedCheckpoint = Checkpoint & {
  cosignatures: { name: string; time: number }[]
  /**
   * The last time at which the log, and as many witnesses as are required, had no newer one; absent if
   * the log has not dated it.
   */
  date?: number
}

export function formatLedgerProof(ledgerProof: LedgerProof): string {
  const { head, opening, publication, last, ...proof } = ledgerProof
  const [[name, secret] = ['', new Uint8Array()]] = Object.entries(opening)
  const encode = ({ time, hashes, path }: LastHead) => {
    return { last: { time, hashes: hashes.map(toBase64), path: path.map(toBase64) } }
  }
  const members = { ...head, [name]: toBase64(secret), ...publication, ...(last && encode(last)) }
  return formatProof({ ...proof, extra: utf8(JSON.stringify(members)) })
}

/** Throws `malformed`. Nothing is verified. */
export function parseLedgerProof(text: string): LedgerProof {
  const { extra, ...proof } = parseProof(text)
  const { ledgerId, revision, head, time, ...secrets } = parseExtra(extra)
  const [key, blinding] = [secrets.key, secrets.blinding].map((one) => fromBase64(String(one)))
  const opening = blinding === undefined ? key && { key } : { blinding }
  const publication = parsePublication(secrets)
  const last = parseLast(secrets.last)
  const isHead = [ledgerId, head, time].every((member) => typeof member === 'string')
  if (!isHead || typeof revision !== 'number' || opening === undefined) throw notALedgerProof()
  return {
    ...proof,
    head: { ledgerId: `${ledgerId}`, revision, head: `${head}`, time: `${time}` },
    opening,
    ...(publication && { publication }),
    ...(last && { last }),
  }
}

function parseLast(members: unknown): LastHead | undefined {
  if (members === undefined) return undefined
  const { time, hashes, path }: Record<string, unknown> = { ...Object(members) }
  const parse = (list: unknown) =>
    Array.isArray(list) ? list.map((hash) => parseHash(String(hash))) : []
  return { time: String(time), hashes: parse(hashes), path: parse(path) }
}

function parseExtra(extra: Bytes = new Uint8Array()): Record<string, unknown> {
  try {
    return { ...JSON.parse(new TextDecoder().decode(extra)) }
  } catch (cause) {
    throw notALedgerProof(cause)
  }
}

function notALedgerProof(cause?: unknown): LogError {
  return new LogError('malformed', 'This is not the proof of a ledger.', { cause })
}

/** Throws `malformed`, or `untrusted` if a signature is missing or invalid. */
export async function verifyCheckpoint(
  note: string,
  { log, witnesses = [], quorum = witnesses.length }: TrustedKeys,
): Promise<VerifiedCheckpoint> {
  const parsed = parseNote(note)
  const dating = await datingKey(log)
  const verified = await verifyNote(parsed, [log, dating, ...witnesses])
  if (!verified.some(({ key }) => key === log)) {
    throw new LogError('untrusted', `The checkpoint is not signed by ${log.name}.`)
  }
  const cosigned = verified.filter(({ key }) => witnesses.includes(key))
  if (cosigned.length < quorum) {
    const message = `${cosigned.length} of the trusted witnesses have cosigned the checkpoint, and ${quorum} must.`
    throw new LogError('untrusted', message)
  }
  const checkpoint = parseCheckpoint(parsed.text)
  if (checkpoint.origin !== log.name) {
    throw new LogError('untrusted', `The checkpoint is of ${checkpoint.origin}, not ${log.name}.`)
  }
  const cosignatures = cosigned.map(({ key, time = 0 }) => ({ name: key.name, time }))
  const dated = verified.find(({ key }) => key === dating)?.time
  if (dated === undefined) return { ...checkpoint, cosignatures }
  const newest = cosignatures.map(({ time }) => time).sort((one, other) => other - one)
  return { ...checkpoint, cosignatures, date: Math.min(dated, ...newest.slice(0, quorum)) }
}

/**
 * Verifies that the head is in the tree of the proof's checkpoint. Throws `malformed`; `untrusted` if
 * a signature is missing or invalid; `disproved` if the tree does not have the head.
 */
export async function verifyLedgerProof(
  proof: LedgerProof,
  keys: TrustedKeys,
): Promise<VerifiedCheckpoint> {
  const checkpoint = await verifyCheckpoint(proof.checkpoint, keys)
  const { entry } = await openEntry(proof)
  if (await verifyInclusion(entry, proof, checkpoint)) return checkpoint
  const { ledgerId, revision } = proof.head
  const message = `The proof does not show that the log has event ${revision} of the ledger ${ledgerId} with this hash.`
  throw new LogError('disproved', message)
}

/** Throws `disproved` unless the verified proof shows that the tree of its checkpoint has no later head. */
export async function verifyLast(proof: LedgerProof, checkpoint: TreeHead): Promise<void> {
  const { head, last } = proof
  if (last !== undefined) {
    const leaf = await mapLeaf({ ledgerId: head.ledgerId, ...(await openEntry(proof)) })
    const heads = toHex(await mapRoot(leaf, last.path))
    const entry = await leafHash(formatEntry({ heads, time: last.time }))
    const { hashes } = last
    if (await verifyInclusion(entry, { index: checkpoint.size - 1, hashes }, checkpoint)) return
  }
  const message = `The proof does not show that event ${head.revision} is the last one of the ledger ${head.ledgerId} in the log: a later one may have taken keys away.`
  throw new LogError('disproved', message)
}

/** The key of the entry that the proof is of, and the hash of its leaf. */
async function openEntry({ head, opening }: Pick<LedgerProof, 'head' | 'opening'>) {
  const { ledgerId, ...rest } = head
  const key = 'key' in opening ? opening.key : await entryKey(opening.blinding, head.revision)
  const ledger = await blindedLedgerId(key, ledgerId)
  return { key, entry: await leafHash(formatEntry({ ...rest, ledger })) }
}
