import { v7 } from 'uuid'
import { uuidPattern } from '../contract.ts'

const uuid = new RegExp(uuidPattern, 'i')

/** A new version 7 UUID (RFC 9562). Ids rise within a process, even when the clock is set back. */
export function newId(): string {
  return v7()
}

/** Whether a caller may choose the text as a kid: a lower-case UUID of a version in RFC 9562. */
export function isKid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text)
}

/** The UUID in its one spelling (lower case), or undefined if the text is none. */
export function parseId(text: string): string | undefined {
  return uuid.test(text) ? text.toLowerCase() : undefined
}
