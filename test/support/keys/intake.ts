import { readFileSync } from 'node:fs'
import type { Algorithm } from '../../../packages/intake/src/algorithms.ts'
import type { Blocklist } from '../../../packages/intake/src/blocklists/blocklist.ts'
import { tag } from '../../../packages/intake/src/encoding/der.ts'
import {
  encode,
  encodeBitString,
  encodeInteger,
  encodeOid,
} from '../../../packages/intake/src/encoding/der-writer.ts'
import { examineKey } from '../../../packages/intake/src/examine.ts'
import type { Accepted, Rejected, Verdict } from '../../../packages/intake/src/types.ts'

const fixtures = new URL('../../fixtures/', import.meta.url)

/** A block list that contains no key. */
export const emptyBlocklist: Blocklist = { has: () => false }

export function fixture(path: string): string {
  return readFileSync(new URL(path, fixtures), 'utf8')
}

export function examine(text: string, algorithm?: Algorithm): Verdict {
  return examineKey(text, algorithm, emptyBlocklist)
}

/** `ok`, or the code of the first fault. */
export function codeOf(text: string, algorithm?: Algorithm): string {
  const verdict = examine(text, algorithm)
  return verdict.ok ? 'ok' : verdict.faults[0].code
}

export function accepted(text: string, algorithm?: Algorithm): Accepted {
  const verdict = examine(text, algorithm)
  if (!verdict.ok) throw new Error(`rejected: ${JSON.stringify(verdict.faults)}`)
  return verdict
}

export function rejected(text: string, algorithm?: Algorithm): Rejected {
  const verdict = examine(text, algorithm)
  if (verdict.ok) throw new Error('accepted')
  return verdict
}

/** A PEM block with 64 columns. */
export function pem(der: Uint8Array, label = 'PUBLIC KEY'): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n')
}

/** The DER of a PEM block. */
export function derOf(text: string): Buffer {
  return Buffer.from(text.replace(/-----[^-]+-----/g, ''), 'base64')
}

/** An SPKI with any algorithm, parameters and key. */
export function spki(oid: string, parameters: Uint8Array, key: Uint8Array): Uint8Array {
  const algorithm = encode(tag.sequence, encodeOid(oid), parameters)
  return encode(tag.sequence, algorithm, encodeBitString(key))
}

/** A PKCS#1 RSAPublicKey. */
export function rsaNumbers(n: Uint8Array, e: Uint8Array): Uint8Array {
  return encode(tag.sequence, encodeInteger(n), encodeInteger(e))
}

export const none = new Uint8Array()
