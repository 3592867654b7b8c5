import type { KeyImportItem } from '@pubring/client'
import { maxTextLength } from '@pubring/intake/encoding'
import { containsSecret } from '@pubring/intake/secrets'
import { endReasons } from '@pubring/server/features/keys/contract'
import { publishedKidFault } from '@pubring/server/features/keys/kids'
import { isObject } from '@pubring/server/runtime/json'
import { present } from '@pubring/server/runtime/present'
import { convertToPem } from '../keys/files.ts'
import { CommandError, fileError, parseChoice, requireKnown } from '../terminal/failures.ts'

export interface Rejection {
  code: string
  detail: string
}

/** A key as a source states it; the import decides the rest. */
export interface SourceKey
  extends Pick<
    KeyImportItem,
    | ('publicKeyPem' | 'active' | 'expireTime' | 'createTime' | 'updateTime')
    | ('publishedKid' | 'reason')
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

/** The content of a source. An export also names the projects without keys. */
export interface Source {
  entries: SourceEntry[]
  projects: { id: string; name: string }[]
}

export const privateKeyCode = 'private_key_submitted'

export const privateKey: Rejection = {
  code: privateKeyCode,
  detail:
    'This is a private key. Nothing was sent. If others could read it, generate a new pair. Import only the public half.',
}

interface EntryText {
  place: string
  label: string
  /** The key, with all that the source says of it but the label. */
  text: string
  publishedKid?: string | undefined
  /** The label if the text holds a private key, which may be in the other one. */
  safeLabel?: string
}

/** The entry of a key that `read` finds, or a rejection if its text or label holds a private key. */
export function readEntry(
  { place, label, text, publishedKid = '', safeLabel = '' }: EntryText,
  read: () => EntryContent,
): SourceEntry {
  // One by one: the label in front of base64 would shift its characters.
  if ([label, text, publishedKid].some((each) => containsSecret(each, maxTextLength))) {
    return { place, label: safeLabel, rejection: privateKey }
  }
  return { place, label, ...(label.includes('\uFFFD') ? { rejection: otherEncoding } : read()) }
}

const otherEncoding: Rejection = {
  code: 'label_invalid',
  detail: 'The label is not UTF-8: save the file as UTF-8.',
}

/** The key in a text or in DER. A text that is not converted is left to the server to judge. */
export function convert(content: Buffer, place: string): EntryContent {
  return orRejection(() => {
    const read = convertToPem(content, place) ?? { publicKeyPem: String(content) }
    const { publicKeyPem, algorithm, active, expireTime, note } = read
    return {
      key: { publicKeyPem, ...present({ algorithm, active, expireTime }) },
      ...present({ note }),
    }
  })
}

/** The result of `read`, or the error that it throws for a person as a rejection. */
export function orRejection(read: () => EntryContent): EntryContent {
  try {
    return read()
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
  const fault = publishedKidFault(kid)
  if (fault === undefined) return { fields: { publishedKid: kid } }
  return { fields: {}, note: `Its kid ${fault}: it gets another.` }
}

type TextMember =
  | ('id' | 'label' | 'algorithm' | 'publicKeyPem' | 'publishedKid')
  | ('createTime' | 'updateTime' | 'reason')
  /** The name of a file with the key. */
  | 'file'

/** A key in a document of ours: an export or a declaration. */
export type KeyRecord = { [Name in TextMember]?: string | undefined } & {
  active?: boolean | undefined
  /** `null` for never. */
  expireTime?: string | null | undefined
}

const memberTypes: Readonly<Record<string, string>> = { active: 'boolean', details: 'object' }
const typeNames: Readonly<Record<string, string>> = {
  boolean: 'true or false',
  object: 'an object',
}

/**
 * Throws for an unknown member or one of another type: ignored, it could make verifiers trust a key
 * that the document has as inactive or expired.
 */
export function readKeyRecord(
  value: unknown,
  members: readonly string[],
  place: string,
): KeyRecord {
  if (!isObject(value)) throw fileError(`${place} must be an object.`)
  requireKnown(Object.keys(value), members, `${place} has an unknown member`)
  for (const [member, content] of Object.entries(value)) {
    const type = memberTypes[member] ?? 'string'
    const isNever = member === 'expireTime' && content === null
    if (isNever || typeof content === type) continue
    throw fileError(`${member} of ${place} must be ${typeNames[type] ?? 'text'}.`)
  }
  return value
}

/** The entry of a record that has a label and a key. */
export function recordEntry(
  { label, reason: end, ...record }: KeyRecord & { label: string; publicKeyPem: string },
  place: string,
): SourceEntry {
  const { id, publishedKid, algorithm, publicKeyPem, active, createTime, updateTime } = record
  const reason =
    end === undefined ? end : parseChoice(end, endReasons, `reason of ${place}`, fileError)
  const expireTime = record.expireTime ?? undefined
  const times = { createTime, updateTime, expireTime }
  const others = { id, publishedKid, algorithm, active, reason, ...times }
  return readEntry({ place, label, text: publicKeyPem, publishedKid }, () => {
    return { key: { publicKeyPem, ...present(others) } }
  })
}

/** The files of a folder that are read. */
export const extensions = /\.(?:pem|pub|crt|cer|der|jwk|jwks|json)$/i

/** The name of a file without folder and extension. */
export function stem(name: string): string {
  const base = name.split(/[\\/]/).at(-1) ?? name
  return base.replace(extensions, '') || base
}
