import { sequencesIn, viewsOf } from './decodings.ts'
import { hasObviousSecret, hasSecretMark, readJson } from './markers.ts'
import { isComplete, secretShapeAt } from './shapes.ts'

/** A private key that was found, as far as its public half might be derived from it. */
export type Secret =
  | { kind: 'asn1'; bytes: Uint8Array }
  | { kind: 'jwk'; members: Record<string, unknown> }
  | { kind: 'openssh'; bytes: Uint8Array }

/** What was found: no secrets where a text only says that it is a private key. */
export interface SecretFinding {
  secrets: Secret[]
}

const OPENSSH_MAGIC = 'openssh-key-v1\0'
/** Microsoft's private blobs, PVK, Java key stores: magic bytes at the start. */
const magics = [
  '0702000000',
  '1ef1b5b0',
  'feedfeed',
  '52534132',
  '52534133',
  '45435332',
  '45435334',
]
/** The structures of a hidden key are at least this long, so that chance does not make one. */
const LEAST_HIDDEN_BYTES = 32
const MAX_MARKED_LENGTH = 131_072
const MAX_JSON_TEXTS = 16

/**
 * Looks for a private key in any wrapping. Never logs, keeps or throws any of the text; what it
 * returns is for `deriveExposed` alone.
 */
export function findSecret(text: string): SecretFinding | undefined {
  const secrets: Secret[] = []
  let found = false
  for (const view of withJsonTexts(text)) {
    const hits = 'text' in view ? inText(view.text) : inBytes(view.bytes)
    if (hits === undefined) continue
    found = true
    secrets.push(...hits)
  }
  return found ? { secrets } : undefined
}

/** The same for a text over the limit of length: the plain marks in its first 131,072 characters. */
export function hasSecretMarker(text: string): boolean {
  return hasObviousSecret(text.slice(0, MAX_MARKED_LENGTH))
}

function withJsonTexts(text: string) {
  const inner = readJson(text)?.texts.slice(0, MAX_JSON_TEXTS) ?? []
  return [text, ...inner].flatMap(viewsOf)
}

function inText(text: string): Secret[] | undefined {
  const members = readJson(text)?.secrets ?? []
  const secrets: Secret[] = members.map((jwk) => ({ kind: 'jwk', members: jwk }))
  if (secrets.length > 0) return secrets
  if (hasSecretMark(text) || isDamagedBinary(text)) return []
  for (const start of sequencesIn(text)) {
    if (secretShapeAt(start, 0) !== undefined) return []
  }
  return undefined
}

/** Raw DER that went through a text decoder: the version bytes of a private key survive it. */
function isDamagedBinary(text: string): boolean {
  if (!text.startsWith('0') || !/[^\t\n\r\x20-\x7e]/.test(text)) return false
  const at = text.slice(0, 10).indexOf('\x02\x01')
  const version = text[at + 2]
  const next = text[at + 3]
  if (at < 0 || next === undefined || (version !== '\0' && version !== '\x01')) return false
  return next === '0' || next === '\x04' || next === '\x02'
}

function inBytes(bytes: Uint8Array): Secret[] | undefined {
  const buffer = Buffer.from(bytes)
  const openssh = buffer.indexOf(OPENSSH_MAGIC)
  if (openssh >= 0) return [{ kind: 'openssh', bytes: bytes.subarray(openssh) }]
  const head = buffer.subarray(0, 16).toString('hex')
  if (magics.some((magic) => head.startsWith(magic))) return []
  if (secretShapeAt(bytes, 0) !== undefined) return [{ kind: 'asn1', bytes }]
  for (let at = bytes.indexOf(0x30, 1); at >= 0; at = bytes.indexOf(0x30, at + 1)) {
    if (secretShapeAt(bytes, at) === undefined || !isComplete(bytes, at)) continue
    if (bytes.length - at < LEAST_HIDDEN_BYTES) continue
    return [{ kind: 'asn1', bytes: bytes.subarray(at) }]
  }
  return undefined
}
