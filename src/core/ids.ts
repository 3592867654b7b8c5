import { v7 } from 'uuid'
import { uuidPattern } from '../contract/names.ts'

const uuid = new RegExp(uuidPattern, 'i')

/** A new version 7 UUID (RFC 9562). Ids rise within a process, even when the clock is set back. */
export function newId(): string {
  return v7()
}

/** All values of a byte, as UUIDs spell them. */
const bytes = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/**
 * Generates request ids: version 7 UUIDs of which 256 differ only in their last byte, at a fifth of
 * the cost of one UUID each. They can be guessed, so nothing may rely on their secrecy, and their time is
 * that of the first of the 256.
 */
export function createRequestIds(): () => string {
  let start = ''
  let left = 0
  return () => {
    if (left === 0) {
      start = newId().slice(0, -2)
      left = bytes.length
    }
    left -= 1
    return `${start}${bytes[left]}`
  }
}

/** Whether a caller may choose the text as a kid: a lower-case UUID of a version in RFC 9562. */
export function isKid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text)
}

/** The UUID in its one spelling (lower case), or undefined if the text is none. */
export function parseId(text: string): string | undefined {
  return uuid.test(text) ? text.toLowerCase() : undefined
}
