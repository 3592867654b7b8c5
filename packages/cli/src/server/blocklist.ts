import type { Config } from '@pubring/server/config/server-settings'
import { readBounded, readOr } from '@pubring/server/runtime/files'

/** Public lists have tens of megabytes. */
const maxBlocklistBytes = 256 * 1024 * 1024

/** The content of a file that a setting names. Throws one line for a person. */
export function readNamed(setting: string, file: string): Uint8Array {
  const toError = (reason: string) => new Error(`${setting} names a file that ${reason}.`)
  return readOr(toError, () => readBounded(file, maxBlocklistBytes))
}

/** The operator's file of compromised keys, if configured. */
export function readBlocklist({ blocklist }: Config): { blocklist?: Uint8Array } {
  return blocklist === undefined ? {} : { blocklist: readNamed('PUBRING_BLOCKLIST', blocklist) }
}
