const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const quoted = '"(?:[^"\\\\]|\\\\.)*"'
/** Preferences are separated by commas, except for commas in a quoted string. */
const separated = new RegExp(`(?:[^,"]|${quoted}|")+`, 'g')
const preference = new RegExp(`^\\s*(${token})\\s*(?:=\\s*(${token}|${quoted})\\s*)?(?:;.*)?$`, 's')

/** A request is held no longer. */
const maxWaitSeconds = 60

/** A request for a stale key set is held no longer: this process may not see its changes. */
const maxStaleWaitSeconds = 2

/** A longer header is ignored: each of 10,000 held requests can send one. */
const maxLength = 200

/** The seconds for which a request may be held; undefined if it has no valid `wait`. */
export function heldSeconds(
  header: string | string[] | undefined,
  isStale: boolean,
): number | undefined {
  const preferred = preferredWait(header)
  if (preferred === undefined) return undefined
  return Math.min(preferred, isStale ? maxStaleWaitSeconds : maxWaitSeconds)
}

/**
 * The seconds of the preference `wait` (RFC 7240 section 4.3), or undefined if it is absent or
 * malformed, which is not an error. The first of several applies (section 2).
 */
export function preferredWait(header: string | string[] | undefined): number | undefined {
  const text = [header].flat().join(',')
  if (text.length > maxLength) return undefined
  for (const [part] of text.matchAll(separated)) {
    const [, name, value = ''] = preference.exec(part) ?? []
    if (name?.toLowerCase() !== 'wait') continue
    const digits = value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/gs, '$1') : value
    return /^\d+$/.test(digits) ? Number(digits) : undefined
  }
  return undefined
}
