import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'

/** Pause between two attempts. */
const pauseMs = 500

/**
 * Waits until this process alone has the folder; returns what gives it back. The operating system does so
 * when the process ends, however it does: it is a lock of SQLite on an empty file.
 */
export async function lockFolder(
  folder: string,
  { signal, onWait }: { signal: AbortSignal; onWait(): void },
): Promise<() => void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const database = new DatabaseSync(join(folder, '.lock'))
  for (let isFirst = true; ; isFirst = false) {
    try {
      database.exec('begin exclusive')
      return () => database.close()
    } catch (error) {
      // SQLITE_BUSY
      if (Reflect.get(Object(error), 'errcode') !== 5) throw error
    }
    if (isFirst) onWait()
    await delay(pauseMs, undefined, { signal })
  }
}
