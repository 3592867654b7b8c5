import { createPrivateKey, type KeyObject } from 'node:crypto'

/**
 * Records the secrets that tests use, and searches for them: any 24 consecutive characters of a secret
 * are a match. The logs, output, responses and database files of every application and server process
 * are searched when it ends.
 */

/** Consecutive characters that cannot match by chance. */
const matchLength = 24

/** Any `matchLength` characters contain an aligned block of this length. */
const gram = matchLength / 2

interface Secret {
  name: string
  text: string
}

const places = new Map<string, { secret: Secret; at: number }[]>()
const seen = new Set<string>()

/** For an API key, a token, or the body of a PEM block without public parts. */
export function rememberSecret(name: string, text: string): string {
  const secret = { name, text: unwrapped(text) }
  if (seen.has(secret.text)) return text
  seen.add(secret.text)
  for (let at = 0; at + gram <= secret.text.length; at += 1) {
    const part = secret.text.slice(at, at + gram)
    places.set(part, [...(places.get(part) ?? []), { secret, at }])
  }
  return text
}

/**
 * The private numbers of a key, in hexadecimal and in base64 at any offset in DER. (A whole PEM block
 * also contains public numbers, which may appear anywhere.)
 */
export function rememberPrivateKey(key: KeyObject | string): void {
  const { kty, d, p, q, dp, dq, qi, priv } = Object({
    ...(typeof key === 'string' ? createPrivateKey(key) : key).export({ format: 'jwk' }),
  })
  for (const member of [d, p, q, dp, dq, qi, priv]) {
    if (typeof member !== 'string') continue
    const bytes = Buffer.from(member, 'base64url')
    rememberSecret(`a private ${kty} key, in hexadecimal`, bytes.toString('hex'))
    for (const shift of [0, 1, 2]) {
      const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64')
      rememberSecret(`a private ${kty} key`, text.slice(shift === 0 ? 0 : 4, -4))
    }
  }
}

/** Without line breaks, escaped or not, and in the standard base64 alphabet. */
function unwrapped(text: string): string {
  return text
    .replace(/\\[nr]|\s/g, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
}

/** Forgets all secrets; those of one test file can appear rightfully in another. */
export function forgetSecrets(): void {
  places.clear()
  seen.clear()
}

/** The name of a secret in the text, or undefined. */
export function findSecret(text: string): string | undefined {
  const searched = unwrapped(text)
  for (let start = 0; start + gram <= searched.length; start += gram) {
    for (const { secret, at } of places.get(searched.slice(start, start + gram)) ?? []) {
      if (sharedLength(searched, start, secret.text, at) >= matchLength) return secret.name
    }
  }
  return undefined
}

function sharedLength(text: string, start: number, secret: string, at: number): number {
  let before = 0
  while (start > before && at > before && text[start - before - 1] === secret[at - before - 1]) {
    before += 1
  }
  let after = 0
  while (at + after < secret.length && text[start + after] === secret[at + after]) after += 1
  return before + after
}

/** Throws if a secret is in one of the texts; the error names both and quotes neither. */
export function expectNoSecret(texts: Record<string, string>): void {
  for (const [where, text] of Object.entries(texts)) {
    const found = findSecret(text)
    if (found !== undefined) throw new Error(`${found} is in ${where}`)
  }
}
