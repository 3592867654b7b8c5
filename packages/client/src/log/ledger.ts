import {
  alteration,
  type ChainedEvent,
  type ChainPosition,
  chainText,
  contentText,
  gapBefore,
  genesisHash,
} from './chain.ts'
import { hexDigest } from './encoding.ts'
import { LogError } from './errors.ts'
import type { LoggedHead } from './ledger-proof.ts'

/** An event of an export: as the API returns it, with the id of its ledger. */
export type ExportedEvent = ChainedEvent & { hash: string }

/** The heads of one ledger that the log has: the hash of its event by revision. */
export type LoggedHeads = ReadonlyMap<number, string>

/**
 * Verifies the hash chain of a ledger from its first event, that it reaches a head that the log has,
 * and that it has others (`scanLog`), as far as it goes. Returns its last event. Throws `disproved`.
 */
export async function verifyChain(
  { ledgerId, revision, head }: LoggedHead,
  events: Iterable<ExportedEvent> | AsyncIterable<ExportedEvent>,
  heads: LoggedHeads = new Map(),
): Promise<ChainPosition> {
  let last: ChainPosition = { revision: 0, hash: genesisHash }
  for await (const event of events) {
    if (event.ledgerId !== ledgerId) {
      throw disproved(`an event is of the ledger ${event.ledgerId}, not of ${ledgerId}`)
    }
    const contentDigest = await hexDigest(contentText(event))
    const link = { previous: last.hash, contentDigest, published: event.published }
    const computed = await hexDigest(chainText(link))
    const reason = gapBefore(event.revision, last) ?? alteration(event, event.hash, computed)
    if (reason !== undefined) throw disproved(reason)
    last = { revision: event.revision, hash: computed }
    const logged = last.revision === revision ? head : (heads.get(last.revision) ?? computed)
    if (logged !== computed) {
      const hashes = `the log has the hash ${logged}, the events give ${computed}`
      throw disproved(`event ${last.revision} is not the one that was logged: ${hashes}`)
    }
  }
  if (last.revision >= revision) return last
  throw disproved(`the events end at ${last.revision}, and the log has event ${revision}`)
}

function disproved(reason: string): LogError {
  return new LogError('disproved', `The ledger is not the one that was logged: ${reason}.`)
}
