import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const marker = 'pubring_'
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 62^43 > 2^256. */
const bodyLength = 43
/** 62^6 > 2^32. */
const checksumLength = 6
const secretPattern = /^pubring_[0-9A-Za-z]{49}$/

function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) {
    text = alphabet.charAt(Number(rest % 62n)) + text
  }
  return text
}

function checksum(body: string): string {
  return base62(BigInt(crc32(body)), checksumLength)
}

/** A new secret: `pubring_`, 256 random bits in base62, and a CRC-32 against typing errors. */
export function newApiKeySecret(): string {
  const body = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), bodyLength)
  return `${marker}${body}${checksum(body)}`
}

/** Whether the text has the form of a secret, including the checksum. */
export function isApiKeySecret(text: string): boolean {
  if (!secretPattern.test(text)) return false
  const body = text.slice(marker.length, marker.length + bodyLength)
  return text.endsWith(checksum(body))
}

/** The secret in a header value, without surrounding blanks; undefined if it has no valid form. */
export function parseApiKeySecret(value: string): string | undefined {
  const [, secret = ''] = /^[ \t]*(\w+)[ \t]*$/.exec(value) ?? []
  return isApiKeySecret(secret) ? secret : undefined
}

/**
 * SHA-256, lower-case hex: the only form in which a secret is stored and compared. The timing of a
 * comparison reveals nothing, because a guess cannot be chosen by its digest.
 */
export function apiKeyDigest(secret: string): string {
  return hash('sha256', secret, 'hex')
}

/** The first characters, by which an operator recognizes a secret. */
export function secretPrefix(secret: string): string {
  return secret.slice(0, marker.length + 4)
}
