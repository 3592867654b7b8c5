import { createPrivateKey, type KeyObject } from 'node:crypto'

/**
 * Records the secrets that tests use, and searches for them: any 24 consecutive characters of a secret
 * are a match. The logs, output, responses and database files of every application and server process
 * are searched when it ends.
 */

/** Consecutive characters that cannot match by chance. */
const matchLength = 24

/** Any `matchLength` characters of a secret contain one of its blocks of this length. */
const blockLength = matchLength / 2

interface Secret {
  name: string
  text: string
}

const places = new Map<string, { secret: Secret; at: number }[]>()
const seen = new Set<string>()

/** By a hash of three bytes, whether a block may begin with them. */
const beginnings = new Uint8Array(2 ** 18)

const nextHash = (hash: number, byte = 0) => ((hash << 6) ^ byte) & (2 ** 18 - 1)

/** For an API key, a token, or the body of a PEM block without public parts. */
export function rememberSecret(name: string, text: string): string {
  const secret = { name, text: unwrapped(text) }
  if (seen.has(secret.text)) return text
  seen.add(secret.text)
  for (let at = 0; at + blockLength <= secret.text.length; at += blockLength) {
    const block = secret.text.slice(at, at + blockLength)
    // Signatures of ML-DSA have runs of zeros, as empty parts of the log's map have.
    if (block.includes('AAAA')) continue
    places.set(block, [...(places.get(block) ?? []), { secret, at }])
    beginnings[Buffer.from(block.slice(0, 3), 'latin1').reduce(nextHash, 0)] = 1
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
  beginnings.fill(0)
}

/** The byte that `unwrapped` makes of each byte, or 0 if it leaves it out. */
const standardByte = Uint8Array.from({ length: 256 }, (_, byte) => {
  const [standard = 0] = Buffer.from(unwrapped(String.fromCharCode(byte)), 'latin1')
  return standard
})
const [backslash, n, r] = Buffer.from('\\nr')

/** The name of a secret in the text, or undefined. In one pass: whole databases are searched. */
export function findSecret(text: string): string | undefined {
  const bytes = Buffer.from(text, 'latin1')
  const candidates: number[] = []
  // Reading the length in each round would take most of the time.
  const { length } = bytes
  // The unwrapped text takes the place of the text.
  let end = 0
  let hash = 0
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at] ?? 0
    const standard = standardByte[byte] ?? 0
    if (standard === 0) continue
    if (byte === backslash && (bytes[at + 1] === n || bytes[at + 1] === r)) {
      at += 1
      continue
    }
    bytes[end] = standard
    end += 1
    hash = nextHash(hash, standard)
    if (beginnings[hash] === 1) candidates.push(end - 3)
  }
  if (candidates.length === 0) return undefined
  const searched = bytes.toString('latin1', 0, end)
  for (const start of candidates) {
    const found = secretAt(searched, start)
    if (found !== undefined) return found
  }
  return undefined
}

/** The name of a secret that shares the block at this place, and enough around it. */
function secretAt(text: string, start: number): string | undefined {
  const shared = places.get(text.slice(start, start + blockLength)) ?? []
  return shared.find(({ secret, at }) => sharedLength(text, start, secret.text, at) >= matchLength)
    ?.secret.name
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
