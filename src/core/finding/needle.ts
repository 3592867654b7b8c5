import { foldName } from '../access/projects.ts'
import type { KeyRecord } from '../records.ts'
import type { Needle } from './reads.ts'

/** Shorter beginnings of ids and hashes are not looked for: too many have them. */
const minPrefix = 8

/**
 * Takes what people copy: ids in upper case, without hyphens, broken over lines or in the middle of a log
 * line, and hashes in hex with colons.
 */
export function createNeedle(query: string): Needle {
  // No stored text has control characters, and PostgreSQL rejects NUL.
  const text = query.replace(/\p{Cc}+/gu, ' ').trim()
  const compact = text.replace(/\s/g, '')
  const [uuid] = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/i.exec(compact) ?? []
  const hex = (uuid ?? compact).replace(/[-:]/g, '').toLowerCase()
  const isHex = hex.length >= minPrefix && /^[0-9a-f]{1,64}$/.test(hex)
  return {
    text,
    folded: foldName(text),
    ...(isHex && hex.length <= 32 ? { id: hyphenated(hex) } : {}),
    ...(isHex ? { hex } : {}),
    ...(compact.length >= minPrefix ? { prefix: compact } : {}),
  }
}

/** The beginning of a UUID, with the hyphens of RFC 9562. */
function hyphenated(hex: string): string {
  const starts = [0, 8, 12, 16, 20, 32]
  const groups = starts.map((start, index) => hex.slice(start, starts[index + 1]))
  return groups.filter((group) => group !== '').join('-')
}

/** The member of the key that the text is, or is the beginning of; undefined if none. */
export function matchKey(
  { text, folded, id, hex, prefix }: Needle,
  key: KeyRecord,
): 'kid' | 'publishedKid' | 'thumbprint' | 'spkiSha256' | 'label' | undefined {
  if (begins(key.id, id)) return 'kid'
  const { publishedKid } = key
  if (publishedKid === text || begins(publishedKid, prefix)) return 'publishedKid'
  if (begins(key.thumbprint, prefix)) return 'thumbprint'
  if (begins(key.spkiSha256, hex)) return 'spkiSha256'
  return begins(foldName(key.label), folded) ? 'label' : undefined
}

export function matchProject(
  { folded, id }: Needle,
  project: { id: string; name: string },
): 'id' | 'name' | undefined {
  if (begins(project.id, id)) return 'id'
  return begins(project.name, folded) ? 'name' : undefined
}

function begins(text: string | undefined, beginning: string | undefined): boolean {
  return beginning !== undefined && text?.startsWith(beginning) === true
}
