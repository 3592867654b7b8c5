import { randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'
import { uuidPattern } from '../contract.ts'

const uuid = new RegExp(uuidPattern, 'i')

const idBytes = 16
/** Random bytes for many ids: the system call for each would take longer than all else. */
const pool = Buffer.alloc(256 * idBytes)
let used = pool.length
/** The first of a millisecond is random in its lower half. */
const maxSeq = 0xffff_ffff
let last = { msecs: 0, seq: 0 }

/** A new version 7 UUID (RFC 9562). Ids rise within a process, even when the clock is set back. */
export function newId(): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const random = pool.subarray(used, used + idBytes)
  used += idBytes
  const now = Date.now()
  const isNext = now <= last.msecs && last.seq < maxSeq
  last = isNext
    ? { msecs: last.msecs, seq: last.seq + 1 }
    : { msecs: Math.max(now, last.msecs + 1), seq: random.readUInt32BE() >>> 1 }
  return v7({ random, ...last })
}

/** Whether a caller may choose the text as a kid: a lower-case UUID of a version in RFC 9562. */
export function isKid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text)
}

/** The UUID in its one spelling (lower case), or undefined if the text is none. */
export function parseId(text: string): string | undefined {
  return uuid.test(text) ? text.toLowerCase() : undefined
}
