import { type Bytes, concatBytes, sha256, toHex, utf8 } from './encoding.ts'
import { LogError } from './errors.ts'

/**
 * An entry of the log: the head of a ledger at a time. `ledger` is the ledger's id, blinded: only who
 * has the ledger's blinding value can tell which entries are of one ledger.
 */
export type LogEntry = {
  /** 64 hex digits. */
  ledger: string
  revision: number
  /** The hash of the event with this revision, as 64 hex digits. */
  head: string
  /** ISO 8601, UTC. */
  time: string
}

/** The last entry of each checkpoint: the root of the map of all last heads, as 64 hex digits. */
export type HeadsEntry = { heads: string; time: string }

type Hash = (data: Bytes) => Bytes | Promise<Bytes>

/**
 * The key that blinds one entry: `blinding` is 32 random bytes, the same for all entries of a ledger.
 * Published with an entry, it shows which ledger this entry is of, and nothing about others.
 */
export async function entryKey(
  blinding: Bytes,
  revision: number,
  hash: Hash = sha256,
): Promise<Bytes> {
  return hash(concatBytes(blinding, utf8(String(revision))))
}

/** The `ledger` of an entry: the SHA-256 of its key and the ledger's id, in lower-case hex. */
export async function blindedLedgerId(
  key: Bytes,
  ledgerId: string,
  hash: Hash = sha256,
): Promise<string> {
  return toHex(await hash(concatBytes(key, utf8(ledgerId))))
}

/** The bytes of an entry: JSON with sorted members (RFC 8785). */
export function formatEntry(entry: LogEntry | HeadsEntry): Bytes {
  const { time } = entry
  if ('heads' in entry) return utf8(JSON.stringify({ heads: entry.heads, time }))
  const { head, ledger, revision } = entry
  return utf8(JSON.stringify({ head, ledger, revision, time }))
}

/** Throws `malformed` unless the bytes are those of `formatEntry`. */
export function parseEntry(bytes: Bytes): LogEntry | HeadsEntry {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const entry: LogEntry | HeadsEntry = JSON.parse(text)
    const isOfLedger = 'ledger' in entry
    const hashes = isOfLedger ? [entry.ledger, entry.head] : [entry.heads]
    const areHashes = hashes.every((hash) => /^[0-9a-f]{64}$/.test(hash))
    const isRevision = !isOfLedger || (Number.isSafeInteger(entry.revision) && entry.revision > 0)
    const isValid = areHashes && isRevision
    if (isValid && text === new TextDecoder().decode(formatEntry(entry))) return entry
  } catch {
    // Not JSON, or not UTF-8: malformed as well.
  }
  throw new LogError(
    'malformed',
    'An entry of the log is neither a head of a ledger nor the root of the map of last heads.',
  )
}
