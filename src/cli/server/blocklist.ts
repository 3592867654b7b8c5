import { readFileSync } from 'node:fs'
import type { Config } from '../../config/server-settings.ts'

/** The operator's file of compromised keys, if configured. */
export function readBlocklist({ blocklist }: Config): { blocklist?: Uint8Array } {
  if (blocklist === undefined) return {}
  try {
    return { blocklist: readFileSync(blocklist) }
  } catch {
    throw new Error('PUBRING_BLOCKLIST names a file that cannot be read.')
  }
}
