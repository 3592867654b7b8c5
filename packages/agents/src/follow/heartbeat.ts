import { basename, dirname } from 'node:path'
import type { Clock } from '@pubring/server/runtime/clock'
import { inFolder } from '../folder.ts'
import type { SideFile } from './state.ts'

/** Pause between two beats. Readers wait for several before they take the follower for dead. */
const pauseMs = 2_000

/**
 * A function that writes the time to the file, in seconds since 1970, at most every two seconds: by it
 * a gateway sees that its keys are still kept up to date.
 */
export function createHeartbeat(
  { root, path }: SideFile,
  { clock, report }: { clock: Clock; report(message: string): void },
): () => Promise<void> {
  let beatAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (clock.monotonic() - beatAt < pauseMs) return
    const text = `${Math.floor(clock.now() / 1_000)}\n`
    try {
      await inFolder(root, dirname(path), (folder) => folder.replace(basename(path), text))
      beatAt = clock.monotonic()
    } catch (error) {
      report(`The heartbeat cannot be written: ${error instanceof Error ? error.message : error}.`)
    }
  }
}
