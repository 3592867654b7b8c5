import { v7 } from 'uuid'
import { uuidPattern } from '../contract/names.ts'

const uuid = new RegExp(uuidPattern, 'i')

/** A new version 7 UUID (RFC 9562). Ids rise within a process, even when the clock is set back. */
export function newId(): string {
  return v7()
}

/** Random bytes fetched with one call of the system, whose cost hardly depends on the number. */
const poolBytes = 4_096

/** Generates request ids: version 7 UUIDs in no particular order within a millisecond. */
export function createRequestIds(): () => string {
  const pool = new Uint8Array(poolBytes)
  let used = poolBytes
  return () => {
    if (used === poolBytes) {
      crypto.getRandomValues(pool)
      used = 0
    }
    used += 16
    return v7({ random: pool.subarray(used - 16, used) })
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
