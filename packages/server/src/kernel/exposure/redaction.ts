import { isApiKeySecret } from '../access/secrets.ts'

const redacted = '[redacted]'

// Only from the first `ey` of a base64url run, so that a long run is scanned once, not for each `ey`.
const token = /\bey(?<!\bey[\w-]*?\bey)[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){0,3}/g

// White space, written-out line breaks and header lines may precede the base64 of a block. A sentence
// that only mentions the BEGIN line is not a block.
const pem =
  /-----BEGIN [^-"\n]{1,60}-----(?=(?:\s|\\+[nrt]|[\w-]{1,40}: [^"\n\\]{0,200}(?:\n|\\+[nr]))*[0-9A-Za-z+/=]{16})[\s\S]*?(?:-----END [^-"]*-----|(?=")|$)/g

/**
 * Patterns of secrets: an API key or most of one; a PEM block, up to its end or the end of the JSON
 * string around it; base64 DER without PEM lines (a SEQUENCE begins with M); a JWT (`{"` begins with
 * `ey` in base64url).
 */
const patterns: readonly [pattern: RegExp, replacement: string][] = [
  [/_(?<=pubring_)[0-9A-Za-z]{16,}/g, `_${redacted}`],
  [pem, redacted],
  [/\bM[A-P][0-9A-Za-z+/_-]{38,}={0,2}/g, redacted],
  [token, redacted],
]

/**
 * Redacts everything in the text that looks like a secret. This is a second line of defense: such
 * texts are built without submitted data in the first place.
 */
export function redact(text: string): string {
  return patterns.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), text)
}

/** Whether the text contains an API key, by form and checksum. */
export function containsApiKey(text: string): boolean {
  const candidates = text.match(/pubring_[0-9A-Za-z]{49}/g) ?? []
  return candidates.some(isApiKeySecret)
}

/** Whether the text contains a JWT. */
export function containsToken(text: string): boolean {
  return text.includes('eyJ') && text.search(token) >= 0
}
