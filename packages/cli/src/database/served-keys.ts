import { LogError } from '@pubring/client/log'
import { KeySetError, type LogOptions, projectKeySet } from '@pubring/client/verify'
import { exchangeLedgerId, systemLedgerId } from '@pubring/server/kernel/ledger/chain'
import { formatCount } from '@pubring/server/runtime/text'
import { CommandError } from '../terminal/failures.ts'

/** The key set at the public address, which the log has proven, or why it was not verified. */
export type ServedKeys =
  | { address: string /** The revision that the log has last. */; revision: number; kids: string[] }
  | { unverified: string }

/** A verified ledger. */
interface VerifiedLedger {
  ledgerId: string
  /** The last revision among all entries of the log. */
  newest: number
  /** Whether the export ends with the deletion of its project. */
  isDeleted: boolean
}

/**
 * Verifies the key set that is served beside the log. What the log may only not have yet is asked for again
 * after `pause`. Undefined if there is none to verify: the ledger is not that of a project, or its project
 * was deleted. Throws `LogError` if the log does not prove the key set.
 */
export async function verifyServedKeys(
  logUrl: string,
  { ledgerId, newest, isDeleted }: VerifiedLedger,
  log: LogOptions,
  pause: (reason: string) => Promise<void>,
): Promise<ServedKeys | undefined> {
  if ([systemLedgerId, exchangeLedgerId].includes(ledgerId)) return undefined
  const [, base] = /^(.*)\/log(?:\/[0-9a-f]{8})?\/*$/.exec(logUrl) ?? []
  if (base === undefined) return { unverified: `its address is unknown: ${logUrl} is not …/log.` }
  const address = `${base}/v1/projects/${ledgerId}/.well-known/jwks-full.json`
  let served = await askFor(address, log)
  const reason = doubtAbout(served, newest)
  if (reason !== undefined) {
    await pause(reason)
    served = await askFor(address, log)
  }
  const contradiction = doubtAbout(served, newest)
  if (contradiction !== undefined) throw new LogError('disproved', contradiction)
  if (served !== undefined) return { address, revision: served.revision, kids: served.kids }
  return isDeleted ? undefined : { unverified: `${address} responds with status 404.` }
}

type Answer = Awaited<ReturnType<typeof askFor>>

/** What the log proves of the key set; undefined if there is none. */
async function askFor(address: string, log: LogOptions) {
  const keys = projectKeySet(address, { log, background: false })
  try {
    await keys.ready()
    const { kids, unprovenKids = [], provenRevision: revision = 0 } = keys.state()
    return { address, revision, kids, unprovenKids }
  } catch (error) {
    if (!(error instanceof KeySetError)) throw error
    const { code, message, status } = error
    if (status === 404) return undefined
    if (code === 'key_set_disproved') throw new LogError('disproved', message)
    if (code === 'key_set_unproven') throw new LogError('untrusted', message)
    throw new CommandError('unavailable', message)
  } finally {
    keys.close()
  }
}

/**
 * Why an honest server would not answer like this once the log has all events. A proof counts for two minutes,
 * so only the entries show at once that it is not the newest.
 */
function doubtAbout(served: Answer, newest: number): string | undefined {
  if (served === undefined) return undefined
  const { address, revision, unprovenKids } = served
  if (revision < newest) {
    return `The key set at ${address} is proven by event ${revision}, and the log has event ${newest}.`
  }
  if (unprovenKids.length === 0) return undefined
  return `The key set at ${address} has keys that the log does not have: ${unprovenKids.join(', ')}.`
}

export function describeServed(served: ServedKeys): string {
  if ('unverified' in served) return `The key set was not verified: ${served.unverified}`
  const { address, revision, kids } = served
  return `The key set at ${address} is that of event ${revision}: ${formatCount(kids.length, 'key')}.`
}
