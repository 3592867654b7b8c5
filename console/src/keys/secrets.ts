import { base64Bytes, elementAt } from './der.ts'

/** Marks of private keys in text: PEM of any kind, OpenSSH, PuTTY, age, and secret JWK members. */
const marks = [
  /PRIVATE[\s\\n-]*KEY/i,
  /PuTTY-User-Key-File/i,
  /AGE-SECRET-KEY-/i,
  /["'](d|p|q|dp|dq|qi|k|priv)["']\s*:\s*["']/,
  /<(D|DP|DQ|InverseQ)>\s*[A-Za-z0-9+/=]/,
  /pubring_[A-Za-z0-9]{20}/,
]

/** `openssh-key-v1` and `-----BEGIN`, as base64 begins with them. */
const encodedStarts = ['b3BlbnNzaC1rZXktdjE', 'LS0tLS1CRUdJTi']

/**
 * Whether the text holds something secret: a private key in PEM, JWK or bare base64, a shared
 * secret, or an API key. Errs on the side of yes. Such text is never sent.
 */
export function holdsSecret(text: string): boolean {
  return [text, ...unescaped(text)].some(
    (view) => marks.some((mark) => mark.test(view)) || blocksOf(view).some(isSecretBlock),
  )
}

/** The text without the escapes of strings, of JSON and of URLs. */
function unescaped(text: string): string[] {
  const lines = text.replace(/\\[rn]/g, '\n')
  const json = text.replace(/\\u([0-9a-f]{4})/gi, (_escape, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  const url = text.replace(/%([0-9a-f]{2})/gi, (_escape, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  return [lines, json, url]
}

/** What may be base64 in the text: bodies of PEM blocks, all of it, and from wherever DER may begin. */
function blocksOf(text: string): string[] {
  const bare = text.replace(/-----[^-]*-----/g, '\n\n')
  const beginnings = bare.matchAll(/(?<![A-Za-z0-9+/_-])M[A-P][A-Za-z0-9+/_\s-]+/g)
  const runs = Array.from(beginnings, ([run]) => run)
  return [text, ...bare.split(/\n\s*\n/), ...runs].map((block) => block.replace(/\s+/g, ''))
}

/** Layers of base64 that are taken off. */
const mostLayers = 3

function isSecretBlock(block: string): boolean {
  return isSecretIn(block, mostLayers)
}

function isSecretIn(block: string, layers: number): boolean {
  if (/^(?:[0-9a-f]{2}:?){16,}$/i.test(block) && isPrivateDer(hexBytes(block))) return true
  const bytes = base64Bytes(block) ?? base64Bytes(block.slice(0, block.length & ~3))
  if (bytes === undefined || bytes.length < 16) return false
  if (block.startsWith(encodedStarts[0] ?? '')) return true
  if (block.startsWith(encodedStarts[1] ?? '')) return holdsSecret(new TextDecoder().decode(bytes))
  if (isPrivateDer(bytes)) return true
  const isText = bytes.every((byte) => byte > 0x08 && byte < 0x7f)
  return isText && layers > 1 && isSecretIn(textOf(bytes), layers - 1)
}

/** ASCII without white space. */
function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replace(/\s+/g, '')
}

function hexBytes(text: string): Uint8Array {
  const pairs = text.match(/[0-9a-f]{2}/gi) ?? []
  return Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16))
}

/**
 * PKCS #8 (RFC 5958) and PKCS #1 (RFC 8017) begin with the version 0 or 1, SEC 1 (RFC 5915) with 1;
 * encrypted PKCS #8 with an algorithm of PKCS #5, PKCS #12 (RFC 7292) with the version 3. Public keys begin with none of these. The end may
 * be cut off.
 */
export function isPrivateDer(bytes: Uint8Array): boolean {
  if (bytes[0] !== 0x30) return false
  const length = bytes[1] ?? 0
  const from = 2 + (length < 0x80 ? 0 : length & 0x7f)
  const [tag, size, version = 2, next = 0] = bytes.subarray(from)
  if (tag === 0x02 && size === 1 && version < 2) return [0x30, 0x02, 0x04].includes(next)
  if (tag === 0x02 && size === 1 && version === 3) return next === 0x30
  const algorithm = elementAt(bytes, from)
  return algorithm?.tag === 0x30 && isPasswordBased(bytes, algorithm.from)
}

const pkcs5 = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05]
const pkcs12 = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c]

function isPasswordBased(bytes: Uint8Array, at: number): boolean {
  const oid = elementAt(bytes, at)
  if (oid?.tag !== 0x06) return false
  const value = bytes.subarray(oid.from, oid.to)
  return [pkcs5, pkcs12].some((start) => start.every((byte, index) => value[index] === byte))
}
