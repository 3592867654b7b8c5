import type { KeyImportItem } from '../../../../client/src/index.ts'
import { findSecret, hasSecretMarker } from '../../../intake/secrets/detector.ts'

/** Why a key is refused. */
export interface Refusal {
  code: string
  detail: string
}

/** What a source says of a key: what it leaves out is decided by the import. */
export type SourceKey = Pick<KeyImportItem, 'publicKeyPem'> &
  Partial<Omit<KeyImportItem, 'publicKeyPem' | 'name' | 'algorithm'>> & { algorithm?: string }

/** One key of a source, or what stands in the place of one. */
export interface SourceEntry {
  /** Where it stands, for a person: `keys.pem, block 6`. */
  place: string
  label: string
  key?: SourceKey
  refusal?: Refusal
  /** What was repaired on reading, without loss. */
  note?: string
}

/** The keys of a source that belong to one project; most sources name none. */
export interface SourceProject {
  name?: string
  entries: SourceEntry[]
}

export const privateKeyCode = 'private_key_submitted'

const privateKey: Refusal = {
  code: privateKeyCode,
  detail:
    'This is a private key. Nothing was sent. If others could read it where it was, make a new pair; a registry needs the public half alone: openssl pkey -in key.pem -pubout',
}

/** The longest text that is searched in every wrapping; of a longer one its plain marks are. */
const mostSearched = 16_384

/** The entry of a text that holds a private key; undefined where it holds none. */
export function privateEntry(text: string, place: string, label: string): SourceEntry | undefined {
  const found = text.length > mostSearched ? hasSecretMarker(text) : findSecret(text) !== undefined
  return found ? { place, label, refusal: privateKey } : undefined
}

export function refusedEntry(place: string, label: string, refusal: Refusal): SourceEntry {
  return { place, label, refusal }
}

/** What is looked at in a folder. */
export const endings = /\.(?:pem|pub|crt|cer|der|jwk|jwks|json|csv)$/i

/** The name of a file without its folders and its ending. */
export function stem(name: string): string {
  const base = name.split(/[\\/]/).at(-1) ?? name
  return base.replace(endings, '') || base
}
