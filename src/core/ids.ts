import { v7 } from 'uuid'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** A new UUID of version 7 (RFC 9562): rising within a process, even when the clock is set back. */
export function newId(): string {
  return v7()
}

/** The UUID in its one spelling (lower case), or undefined where the text is none. */
export function parseId(text: string): string | undefined {
  return uuid.test(text) ? text.toLowerCase() : undefined
}
