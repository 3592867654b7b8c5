const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const quoted = '"(?:[^"\\\\]|\\\\.)*"'
/** Preferences are separated by commas, which a quoted string may hold too. */
const separated = new RegExp(`(?:[^,"]|${quoted}|")+`, 'g')
const preference = new RegExp(`^\\s*(${token})\\s*(?:=\\s*(${token}|${quoted})\\s*)?(?:;.*)?$`, 's')

/** Preferences that nobody has; a longer header is let go unread. */
const maxLength = 1_000

/**
 * The seconds of the preference `wait` (RFC 7240 section 4.3); undefined where there is none that
 * can be understood, which is no error. Of several the first one counts (section 2).
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
