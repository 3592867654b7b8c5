import { createPrivateKey, type KeyObject } from 'node:crypto'

/**
 * The secrets that tests used, and a search for them: 24 characters of one, wherever they stand, are
 * a find. Every test application and every server process of the tests is searched when it ends:
 * what it logged or printed, what it answered, and its database files.
 */

/** Characters in a row that nobody could have got from anywhere else. */
const telling = 24

/** Any `telling` characters hold a whole one of these, at a multiple of their length. */
const gram = telling / 2

interface Secret {
  name: string
  text: string
}

const places = new Map<string, { secret: Secret; at: number }[]>()
const seen = new Set<string>()

/** An API key, a token, or the body of a PEM block that holds nothing public. */
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
 * The private numbers of a key, in hexadecimal and in base64 as they stand in DER at any offset.
 * (A PEM block as a whole holds public numbers too, which may be anywhere.)
 */
export function rememberPrivateKey(key: KeyObject | string): void {
  const { kty, d, p, q, dp, dq, qi, priv } = Object({
    ...(typeof key === 'string' ? createPrivateKey(key) : key).export({ format: 'jwk' }),
  })
  for (const member of [d, p, q, dp, dq, qi, priv]) {
    if (typeof member !== 'string') continue
    const octets = Buffer.from(member, 'base64url')
    rememberSecret(`a private ${kty} key, in hexadecimal`, octets.toString('hex'))
    for (const shift of [0, 1, 2]) {
      const text = Buffer.concat([Buffer.alloc(shift), octets]).toString('base64')
      rememberSecret(`a private ${kty} key`, text.slice(shift === 0 ? 0 : 4, -4))
    }
  }
}

/** Without line breaks, also written-out ones, and in one of the two alphabets of base64. */
function unwrapped(text: string): string {
  return text
    .replace(/\\[nr]|\s/g, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
}

/** The name of a secret that the text holds, or undefined. */
export function findSecret(text: string): string | undefined {
  const searched = unwrapped(text)
  for (let start = 0; start + gram <= searched.length; start += gram) {
    for (const { secret, at } of places.get(searched.slice(start, start + gram)) ?? []) {
      if (sharedLength(searched, start, secret.text, at) >= telling) return secret.name
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

/** Throws where a secret is in one of the texts, naming both and quoting neither. */
export function expectNoSecret(texts: Record<string, string>): void {
  for (const [where, text] of Object.entries(texts)) {
    const found = findSecret(text)
    if (found !== undefined) throw new Error(`${found} is in ${where}`)
  }
}
