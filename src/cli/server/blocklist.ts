import type { Config } from '../../config/server-settings.ts'
import { readBounded, unreadableReason } from '../../runtime/files.ts'

/** Public lists have tens of megabytes. */
export const maxBlocklistBytes = 256 * 1024 * 1024

/** The operator's file of compromised keys, if configured. */
export function readBlocklist({ blocklist }: Config): { blocklist?: Uint8Array } {
  if (blocklist === undefined) return {}
  try {
    return { blocklist: readBounded(blocklist, maxBlocklistBytes) }
  } catch (error) {
    throw new Error(`PUBRING_BLOCKLIST names a file that ${unreadableReason(error)}.`)
  }
}
