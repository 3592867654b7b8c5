import { isApiKeySecret } from './api-keys/secrets.ts'

const redacted = '[redacted]'

// From the start of a run that a dot ends, so that it is read once and not for each `ey` in it.
const token =
  /(?<![\w-])(?=[\w-]{10,}\.[\w-]{8})([\w-]*?)\bey[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){0,3}/g

/**
 * What a secret looks like in a text, wherever it came from: an API key, whole or the better part
 * of one; a PEM block, to its end or to that of the (JSON) string it is in; DER in base64 without
 * its PEM lines (a SEQUENCE, so it begins with M); a JWT, for what is signed begins with `{"`.
 */
const shapes: readonly { shape: RegExp; by: string }[] = [
  { shape: /(?<=pubring_)[0-9A-Za-z]{16,}/g, by: redacted },
  { shape: /-----BEGIN [\s\S]*?(?:-----END [^-"]*-----|(?=")|$)/g, by: redacted },
  { shape: /\bM[A-P][0-9A-Za-z+/_-]{38,}={0,2}/g, by: redacted },
  { shape: token, by: `$1${redacted}` },
]

/**
 * The text without anything that has the shape of a secret. It is the second net: nothing that a
 * caller sent is to be in such a text in the first place.
 */
export function redact(text: string): string {
  return shapes.reduce((rest, { shape, by }) => rest.replace(shape, by), text)
}

/** Whether the text has an API key in it, by its form and checksum alone: nothing is looked up. */
export function containsApiKey(text: string): boolean {
  const candidates = text.match(/pubring_[0-9A-Za-z]{49}/g) ?? []
  return candidates.some(isApiKeySecret)
}

/** Whether the text has a JWT in it: what is signed begins with `{"`, so the token with `eyJ`. */
export function containsToken(text: string): boolean {
  return text.includes('eyJ') && text.search(token) >= 0
}
