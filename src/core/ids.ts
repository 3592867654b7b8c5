import { v7 } from 'uuid'
import { uuidPattern } from '../contract/names.ts'

const uuid = new RegExp(uuidPattern, 'i')

/** A new UUID of version 7 (RFC 9562): rising within a process, even when the clock is set back. */
export function newId(): string {
  return v7()
}

/** Octets of randomness that are taken from the system at once: it costs far more than they do. */
const poolOctets = 4_096

/** Makes ids for requests: UUIDs of version 7, which need not rise within a millisecond. */
export function createRequestIds(): () => string {
  const pool = new Uint8Array(poolOctets)
  let used = poolOctets
  return () => {
    if (used === poolOctets) {
      crypto.getRandomValues(pool)
      used = 0
    }
    used += 16
    return v7({ random: pool.subarray(used - 16, used) })
  }
}

/** Whether a caller may choose the text as a kid: a lower-case UUID of a version that RFC 9562 has. */
export function isKid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text)
}

/** The UUID in its one spelling (lower case), or undefined where the text is none. */
export function parseId(text: string): string | undefined {
  return uuid.test(text) ? text.toLowerCase() : undefined
}
