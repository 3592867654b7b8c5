import { type Contents, readContents } from './contents.ts'
import { type KeySetAnswer, noKeySet } from './fetch.ts'
import { later, type Moment, since } from './timestamp.ts'

/** What was known when a question was asked. */
export type Asked = { etag: string | undefined; version: number; wait: number }

/** What is held of a key set, and for how long it may be trusted. */
export type Holding = {
  contents(): Contents | undefined
  /** Raised by each change of the contents. */
  version(): number
  /** From when on what is held may be out of date. */
  contact(): Moment | undefined
  /** Whether contact is recent enough to trust what is held. */
  trusted(): boolean
  /**
   * Takes an answer. One that took part of its time in a queue somewhere can be older than what is
   * held: it is taken where it was held for news itself (the next question corrects it at once), and
   * dropped where something else came in meanwhile. Throws `key_set_unavailable` for no key set.
   */
  take(answer: KeySetAnswer, asked: Asked): void
}

/** Nothing is held yet; what will be is trusted for so many milliseconds after contact. */
export function createHolding(url: string, maxStale: number): Holding {
  let contents: Contents | undefined
  let contact: Moment | undefined
  let version = 0

  function touch(moment: Moment): void {
    if (contact === undefined || since(moment) < since(contact)) contact = moment
  }
  return {
    contents: () => contents,
    version: () => version,
    contact: () => contact,
    trusted: () => contact !== undefined && since(contact) <= maxStale,
    take(answer, asked) {
      if (answer.body === undefined) {
        // Where a newer set has come in meanwhile, this says nothing about it.
        if (asked.etag !== undefined && asked.etag === contents?.etag) touch(trueAt(answer, asked))
        return
      }
      const fresh = readContents(answer.body, answer.etag, contents)
      if (fresh === undefined) throw noKeySet(url)
      if (asked.wait === 0 && asked.version !== version) return
      if (contents === undefined || !isSame(fresh, contents)) version += 1
      contents = fresh
      touch(trueAt(answer, asked))
    },
  }
}

/**
 * The moment at which the answer was true for certain: when it was asked for; if it was held for the
 * whole wait, when that was over. Less what a cache served it beyond its time (RFC 9111 section 4.2).
 */
function trueAt(answer: KeySetAnswer, { wait }: Asked): Moment {
  const { sent, age = 0, maxAge } = answer
  const held = isHeldToTheEnd(answer, wait) ? wait * 1_000 : 0
  return later(sent, held - Math.max(0, age - maxAge) * 1_000)
}

/** Whether the service itself has waited the whole time and seen no change. */
export function isHeldToTheEnd({ body, sent, applied, age }: KeySetAnswer, wait: number): boolean {
  if (body !== undefined || applied !== wait || wait === 0 || (age ?? 0) > 0) return false
  // By the clock that is never set: the other one could say more than was waited.
  return performance.now() - sent.monotonic >= wait * 1_000
}

function isSame(one: Contents, other: Contents): boolean {
  const texts = ({ entries }: Contents) => [...entries.values()].map(({ text }) => text).join('\n')
  return one.etag === other.etag && texts(one) === texts(other)
}
