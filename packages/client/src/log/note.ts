import { type Bytes, concatBytes, fromBase64, sha256, toBase64, toHex, utf8 } from './encoding.ts'
import { LogError } from './errors.ts'

/** Signature types of C2SP signed-note: of a log, and of a witness (tlog-cosignature v1). */
export const signatureTypes = { ed25519: 0x01, cosignature: 0x04 } as const

/** A key that verifies notes: the parsed form of `NAME+ID+BASE64`, a "vkey" of C2SP signed-note. */
export type VerifierKey = {
  name: string
  /** The first 4 bytes of a SHA-256, in lower-case hex. */
  id: string
  type: (typeof signatureTypes)[keyof typeof signatureTypes]
  /** 32 bytes (RFC 8032). */
  publicKey: Bytes
}

/** A line below a note. Its signature may be of any type, and proves nothing before it is verified. */
export type NoteSignature = { name: string; id: string; signature: Bytes; line: string }

/** A parsed note. The text ends in a line feed and must not be trusted before it is verified. */
type SignedNote = { text: string; signatures: NoteSignature[] }

/** A valid signature of a trusted key; `time`, in seconds since 1970, is that of a cosignature. */
type VerifiedSignature = { key: VerifierKey; line: string; time?: number }

type Sign = (message: Bytes) => Uint8Array | Promise<Uint8Array>

/** Bounds the work of verifying a note; the limit of Go's golang.org/x/mod/sumdb/note. */
const maxSignatures = 100

const namePattern = /^[^\p{White_Space}+]+$/u

/** Whether a note may contain it: no ASCII control characters but line feeds, valid UTF-8. */
function isText(text: string): boolean {
  return text.isWellFormed() && !Array.from(text).some((one) => one < ' ' && one !== '\n')
}

const isName = (name: string) => namePattern.test(name) && isText(name)

/** The bytes whose SHA-256 begins with the key id. */
export function keyIdInput({ name, type, publicKey }: Omit<VerifierKey, 'id'>): Bytes {
  return concatBytes(utf8(`${name}\n`), Uint8Array.of(type), publicKey)
}

/** A key with its id. Throws `malformed` for a name that a note cannot contain. */
export async function createVerifierKey(key: Omit<VerifierKey, 'id'>): Promise<VerifierKey> {
  if (!isName(key.name)) throw invalidVerifierKey()
  return { ...key, id: toHex((await sha256(keyIdInput(key))).slice(0, 4)) }
}

/**
 * The key of the lines by which a log says when a checkpoint was its current one: cosignatures of the log
 * itself (C2SP tlog-cosignature).
 */
export function datingKey({ name, publicKey }: VerifierKey): Promise<VerifierKey> {
  return createVerifierKey({ name, type: signatureTypes.cosignature, publicKey })
}

export function formatVerifierKey({ name, id, type, publicKey }: VerifierKey): string {
  return `${name}+${id}+${toBase64(concatBytes(Uint8Array.of(type), publicKey))}`
}

/** Throws `malformed` unless it is a verifier key whose id is that of its name and public key. */
export async function parseVerifierKey(text: string): Promise<VerifierKey> {
  const key = readVerifierKey(text)
  if ((await createVerifierKey(key)).id !== key.id) throw invalidVerifierKey()
  return key
}

/** As `parseVerifierKey`, but without comparing the id: for callers with a hash of their own. */
export function readVerifierKey(text: string): VerifierKey {
  const [, name = '', id = '', data = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(text) ?? []
  const bytes = fromBase64(data)
  const type = Object.values(signatureTypes).find((known) => known === bytes?.[0])
  if (!isName(name) || type === undefined || bytes?.length !== 33) {
    throw invalidVerifierKey()
  }
  return { name, id, type, publicKey: bytes.slice(1) }
}

function invalidVerifierKey(): LogError {
  return new LogError(
    'malformed',
    'A verifier key has the form NAME+ID+BASE64 and holds an Ed25519 key. Was it copied completely?',
  )
}

/** Throws `malformed` unless the text is a note with at least one signature line. */
export function parseNote(note: string): SignedNote {
  const end = note.lastIndexOf('\n\n')
  const lines = note.slice(end + 2).split('\n')
  // The last line ends in a line feed, so nothing may follow it.
  if (end < 0 || !isText(note) || lines.pop() !== '' || lines.length === 0) throw malformedNote()
  if (lines.length > maxSignatures) throw malformedNote()
  return { text: note.slice(0, end + 1), signatures: lines.map(parseSignature) }
}

/** Parses `— NAME BASE64`. Throws `malformed`. */
function parseSignature(line: string): NoteSignature {
  const [dash, name = '', data = '', ...rest] = line.split(' ')
  const bytes = fromBase64(data)
  const isSignature = dash === '—' && isName(name) && rest.length === 0
  if (!isSignature || bytes === undefined || bytes.length < 5) throw malformedNote()
  return { name, id: toHex(bytes.slice(0, 4)), signature: bytes.slice(4), line }
}

function malformedNote(): LogError {
  return new LogError('malformed', 'This is not a signed note (https://c2sp.org/signed-note).')
}

/** The note without signatures that `text`, which ends in a line feed, and lines make. */
export function formatNote(text: string, lines: readonly string[]): string {
  return `${text}\n${lines.map((line) => `${line}\n`).join('')}`
}

/**
 * A signature line for the text. `time`, in seconds since 1970, is for a cosignature; `sign` makes an
 * Ed25519 signature with the private half of `key`.
 */
export async function signNote(
  text: string,
  key: VerifierKey,
  sign: Sign,
  time = 0,
): Promise<string> {
  const signature = await sign(signedMessage(text, key.type, time))
  const id = Uint8Array.from(key.id.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16))
  const timestamp = key.type === signatureTypes.cosignature ? bigEndian(time) : new Uint8Array()
  return `— ${key.name} ${toBase64(concatBytes(id, timestamp, signature))}`
}

function bigEndian(time: number): Bytes {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(time))
  return bytes
}

/** A key of this type signs the text, or the text with a time (C2SP tlog-cosignature). */
function signedMessage(text: string, type: VerifierKey['type'], time: number): Bytes {
  const isCosignature = type === signatureTypes.cosignature
  return utf8(isCosignature ? `cosignature/v1\ntime ${time}\n${text}` : text)
}

/**
 * The valid signatures of these keys, one for each key. Signatures of other keys are ignored. Throws
 * `untrusted` if there is none, or if one that bears the name and id of a key is invalid.
 */
export async function verifyNote(
  { text, signatures }: SignedNote,
  keys: readonly VerifierKey[],
): Promise<VerifiedSignature[]> {
  const verified: VerifiedSignature[] = []
  for (const key of keys) {
    const found = signatures.find(({ name, id }) => name === key.name && id === key.id)
    if (found === undefined) continue
    const isTimed = key.type === signatureTypes.cosignature
    const time = isTimed ? readTime(found.signature) : 0
    const message = signedMessage(text, key.type, time)
    if (!(await isValid(key, found.signature.slice(isTimed ? 8 : 0), message))) {
      throw new LogError('untrusted', `The signature of ${key.name} is invalid.`)
    }
    verified.push({ key, line: found.line, ...(isTimed ? { time } : {}) })
  }
  if (verified.length > 0) return verified
  const names = [...new Set(keys.map(({ name }) => name))].join(' or ')
  throw new LogError('untrusted', `The note is not signed by ${names}, or with another key.`)
}

/**
 * The time of a cosignature, in seconds since 1970. One that is no safe integer is no valid one either: the
 * signature will not match.
 */
export function readTime({ buffer, byteOffset, length }: Bytes): number {
  return length < 8 ? 0 : Number(new DataView(buffer, byteOffset).getBigUint64(0))
}

async function isValid(key: VerifierKey, signature: Bytes, message: Bytes): Promise<boolean> {
  const algorithm = { name: 'Ed25519' }
  try {
    const imported = await crypto.subtle.importKey('raw', key.publicKey, algorithm, false, [
      'verify',
    ])
    return await crypto.subtle.verify(algorithm, imported, signature, message)
  } catch (cause) {
    throw new LogError('untrusted', `The key of ${key.name} cannot be used.`, { cause })
  }
}
