import type { PubringError } from '../../errors.ts'
import { soleProject } from '../../kernel/access/grants.ts'
import type { RequestContext } from '../../kernel/access/principal.ts'
import { foldName } from '../../kernel/access/projects.ts'
import { containsApiKey, containsToken } from '../../kernel/exposure/redaction.ts'
import { rejection } from '../../kernel/faults.ts'
import { containsPrivateKey } from '../../kernel/values/labels.ts'
import { present } from '../../runtime/present.ts'
import { recordExposureOf } from '../keys/exposure/incidents.ts'
import type { KeyRecord } from '../keys/stored.ts'
import { sshFingerprint } from './ssh.ts'

/** A text to search for, in the forms in which it is compared. */
export interface Needle {
  /** As it was sent, without white space around it and control characters. */
  text: string
  /** In lower case, as far as it is ASCII: labels and names begin with it. */
  folded: string
  /** The beginning of a UUID. */
  id?: string
  /** The beginning of a hash in lower-case hex. */
  hex?: string
  /** The end of a UUID, whose beginning many have: it is a time. */
  end?: string
  /** The beginning of a thumbprint or published kid. */
  prefix?: string
  /** The fingerprint of an OpenSSH key. */
  ssh?: string
}

/** No label, name or id has more characters. */
const maxLength = 510

/**
 * Reads what to search for: a text, or the thumbprint of a pasted public key. Throws `private_key_submitted`, and
 * `invalid_request` for other secrets and for texts that nothing is called.
 */
export async function readQuery(context: RequestContext, query: string): Promise<Needle> {
  if (containsPrivateKey(query) || /-----BEGIN /.test(query)) {
    const verdict = await context.intake.examine(query)
    const project = soleProject(context.principal.grants)
    const recorded = await recordExposureOf(context, project, verdict)
    if (recorded.ok) return createNeedle(recorded.key.thumbprint)
    throw rejection(recorded.faults.map((fault) => ({ parameter: 'q', ...fault })))
  }
  if (containsToken(query)) {
    throw invalid(
      'q is a token (JWT). Search for the kid in its header, or check it: POST …/token-checks.',
    )
  }
  if (containsApiKey(query)) {
    throw invalid('q is an API key, a secret. Send an id, a hash, a label or a name.')
  }
  const needle = createNeedle(query)
  if (needle.text === '') throw invalid('q is empty. Send an id, a hash, a label or a name.')
  if (needle.text.length > maxLength) {
    throw invalid(
      `q is longer than any label or id (${maxLength} characters). Send an id, a hash, or the beginning of a label or name.`,
    )
  }
  return needle
}

function invalid(detail: string): PubringError {
  return rejection([{ parameter: 'q', code: 'invalid', detail }])
}

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
  const [, end] = /^(?:…|\.{3})?([0-9a-f]{4,12})$/i.exec(text) ?? []
  const [ssh] = /\bSHA256:[A-Za-z0-9+/]{43}/.exec(text) ?? []
  const isHex = hex.length >= minPrefix && /^[0-9a-f]{1,64}$/.test(hex)
  return {
    text,
    folded: foldName(text),
    ...present({
      id: isHex && hex.length <= 32 ? hyphenated(hex) : undefined,
      hex: isHex ? hex : undefined,
      end: end?.toLowerCase(),
      prefix: compact.length >= minPrefix ? compact : undefined,
      ssh,
    }),
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
  { text, folded, id, end, hex, prefix, ssh }: Needle,
  key: KeyRecord,
): 'kid' | 'publishedKid' | 'thumbprint' | 'spkiSha256' | 'sshFingerprint' | 'label' | undefined {
  if (begins(key.id, id) || ends(key.id, end)) return 'kid'
  const { publishedKid } = key
  if (publishedKid === text || begins(publishedKid, prefix)) return 'publishedKid'
  if (begins(key.thumbprint, prefix)) return 'thumbprint'
  if (begins(key.spkiSha256, hex)) return 'spkiSha256'
  if (ssh !== undefined && sshFingerprint(key.jwk) === ssh) return 'sshFingerprint'
  return isInLabel(folded, key.label) ? 'label' : undefined
}

/** Shorter texts are in the middle of too many labels. */
const minMiddle = 3

/** Whether labels may have the text in the middle: it is long enough, and no whole id or hash. */
export function mayBeInMiddle({ folded, id, hex }: Needle): boolean {
  return folded.length >= minMiddle && id?.length !== 36 && hex?.length !== 64
}

export function isInLabel(folded: string, label: string): boolean {
  const at = foldName(label).indexOf(folded)
  return at === 0 || (at > 0 && folded.length >= minMiddle)
}

export function matchProject(
  { folded, id, end }: Needle,
  project: { id: string; name: string },
): 'id' | 'name' | undefined {
  if (begins(project.id, id) || ends(project.id, end)) return 'id'
  return begins(project.name, folded) ? 'name' : undefined
}

const ends = (id: string, end: string | undefined) => end !== undefined && id.endsWith(end)

function begins(text: string | undefined, beginning: string | undefined): boolean {
  return beginning !== undefined && text?.startsWith(beginning) === true
}
