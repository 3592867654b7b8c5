import type { KeyImportItem } from '../../../client/src/index.ts'
import { isPublishableKid } from '../../core/keys/kids.ts'
import { containsSecret } from '../../intake/secrets/detector.ts'
import { parseJson } from '../../runtime/json.ts'
import { present } from '../../runtime/present.ts'
import { convertToPem } from '../keys/files.ts'
import { CommandError, fileError } from '../terminal/failures.ts'

export interface Rejection {
  code: string
  detail: string
}

/** A key as a source states it; the import decides the rest. */
export interface SourceKey
  extends Pick<
    KeyImportItem,
    'publicKeyPem' | 'active' | 'expireTime' | 'createTime' | 'updateTime' | 'publishedKid'
  > {
  /** The id that the key has in the registry that exported it. */
  id?: string
  algorithm?: string
}

/** A key, or why there is none; `note` says what was repaired without loss on reading. */
export type EntryContent = { key: SourceKey; note?: string } | { rejection: Rejection }

export type SourceEntry = EntryContent & {
  /** The id of the project that an export names. */
  project?: string
  /** For a person: `keys.pem, block 6`. */
  place: string
  label: string
}

export interface SourceProject {
  id: string
  name: string
}

/** The content of a source. An export also names the projects without keys. */
export interface Source {
  entries: SourceEntry[]
  projects: SourceProject[]
}

export const privateKeyCode = 'private_key_submitted'

const privateKey: Rejection = {
  code: privateKeyCode,
  detail:
    'This is a private key. Nothing was sent. If others could read it, generate a new pair. Import only the public half.',
}

/** Longer texts are searched for plain markers only, not in every encoding. */
const maxSearchedLength = 16_384

/** The rejected entry for a text that holds a private key; undefined for any other text. */
export function privateEntry(text: string, place: string, label: string): SourceEntry | undefined {
  if (!containsSecret(text, maxSearchedLength)) return undefined
  return { place, label, rejection: privateKey }
}

/** The content of a certificate, an SSH key or DER; undefined for anything else. */
export function convert(content: Buffer, place: string): EntryContent | undefined {
  try {
    const converted = convertToPem(content, place)
    return converted && { key: { publicKeyPem: converted.publicKeyPem } }
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    return { rejection: { code: error.code, detail: error.message } }
  }
}

/**
 * The kid of a source as the published kid of its key, so that tokens that carry it go on verifying,
 * or a note that it cannot be one.
 */
export function publishedKidOf(kid: unknown): { fields: { publishedKid?: string }; note?: string } {
  if (typeof kid !== 'string') return { fields: {} }
  if (isPublishableKid(kid)) return { fields: { publishedKid: kid } }
  return { fields: {}, note: 'Its kid has characters that no published kid has: it gets another.' }
}

const textMembers = [
  'id',
  'publishedKid',
  'algorithm',
  'createTime',
  'updateTime',
  'expireTime',
] as const

/** The entry for a key with the members that an export has. */
export function recordEntry(
  record: { label: string; publicKeyPem: string; active?: boolean; [member: string]: unknown },
  place: string,
): SourceEntry {
  const { label, publicKeyPem, active } = record
  const secret = privateEntry(`${label}\n${publicKeyPem}`, place, '')
  if (secret !== undefined) return secret
  const texts = textMembers.flatMap((member) => {
    const value = record[member]
    return typeof value === 'string' && value !== '' ? [[member, value]] : []
  })
  const state = present({ active })
  return { place, label, key: { publicKeyPem, ...state, ...Object.fromEntries(texts) } }
}

/** The JSON object or array in the text. Throws if there is none. */
export function readDocument(text: string, name: string, ...hints: string[]): object {
  const value = parseJson(text.trim())
  if (typeof value === 'object' && value !== null) return value
  throw fileError(`${name} is not valid JSON.`, ...hints)
}

/** The files of a folder that are read. */
export const extensions = /\.(?:pem|pub|crt|cer|der|jwk|jwks|json)$/i

/** The name of a file without folder and extension. */
export function stem(name: string): string {
  const base = name.split(/[\\/]/).at(-1) ?? name
  return base.replace(extensions, '') || base
}
