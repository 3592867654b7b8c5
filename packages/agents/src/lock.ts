import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { AgentError } from './error.ts'

/** Pause between two attempts. */
const pauseMs = 500

/**
 * Waits until this process alone has the folder; returns what gives it back. The operating system does so
 * when the process ends, however it does: it is a lock of SQLite on an empty file. Throws `AgentError` if
 * the folder cannot be locked.
 */
export async function lockFolder(
  folder: string,
  { signal, report }: { signal: AbortSignal; report(message: string): void },
): Promise<() => void> {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const database = new DatabaseSync(join(folder, '.lock'))
    for (let isFirst = true; !lock(database); isFirst = false) {
      if (isFirst) report(`Another process keeps ${folder}: waiting until it ends.`)
      await delay(pauseMs, undefined, { signal })
    }
    return () => database.close()
  } catch (error) {
    if (signal.aborted) throw error
    const reason = error instanceof Error ? error.message : String(error)
    const advice = 'It must be writable, on a file system that has POSIX locks.'
    throw new AgentError('error', `${folder} cannot be locked (${reason}). ${advice}`)
  }
}

/** Whether the lock was free. */
function lock(database: DatabaseSync): boolean {
  try {
    database.exec('begin exclusive')
    return true
  } catch (error) {
    // SQLITE_BUSY
    if (Reflect.get(Object(error), 'errcode') !== 5) throw error
    return false
  }
}
