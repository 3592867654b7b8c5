import { LogError } from '@pubring/client/log'
import { KeySetError, type LogOptions, projectKeySet } from '@pubring/client/verify'
import { exchangeLedgerId, systemLedgerId } from '@pubring/server/kernel/ledger/chain'
import { formatCount } from '@pubring/server/runtime/text'
import { CommandError } from '../terminal/failures.ts'

/** What the public address serves, which the log has proven. */
export interface ServedKeys {
  address: string
  /** The revision that the log has last. */
  revision: number
  kids: string[]
  /** The keys that are not in the log yet. */
  unprovenKids: string[]
}

/**
 * Verifies the key set that is served beside the log. Undefined if there is none, as for a deleted project.
 * Throws `LogError` if the log does not prove it.
 */
export async function verifyServedKeys(
  logUrl: string,
  ledgerId: string,
  log: LogOptions,
): Promise<ServedKeys | undefined> {
  const [, base] = /^(.*)\/log(?:\/[0-9a-f]{8})?\/*$/.exec(logUrl) ?? []
  if (base === undefined || [systemLedgerId, exchangeLedgerId].includes(ledgerId)) return undefined
  const address = `${base}/v1/projects/${ledgerId}/.well-known/jwks-full.json`
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

export function describeServed({ address, revision, kids, unprovenKids }: ServedKeys): string[] {
  const lines = [
    `The key set at ${address} is that of event ${revision}: ${formatCount(kids.length, 'key')}.`,
  ]
  if (unprovenKids.length > 0) {
    lines.push(`It also has keys that are not in the log yet: ${unprovenKids.join(', ')}.`)
  }
  return lines
}
