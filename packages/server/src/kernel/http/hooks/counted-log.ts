import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { describeCause, type ErrorCode, type PubringError } from '../../../errors.ts'

/** How long lines with the same cause are counted. */
const intervalMs = 60_000

/** Causes counted at a time; beyond them, one line per code. */
const maxCauses = 100

/**
 * Codes of faults that are expected and come in floods, and the level of their line. To add one,
 * add its code here; to log another condition this way, call `app.countedLog.write`.
 */
const floods: Partial<Record<ErrorCode, Level>> = {
  overloaded: 'warn',
  storage_unavailable: 'error',
}

type Level = 'warn' | 'error'

/** A short line, which must hold nothing that differs between repeats, such as a request id. */
interface Line {
  level: Level
  message: string
  /** Distinguishes it from other lines: a `code` of the API or a word of the same form. */
  code: string
  cause?: string | undefined
}

type Log = Pick<FastifyBaseLogger, Level>

export type CountedLog = ReturnType<typeof createCountedLog>

/** Keeps floods of equal faults out of the log: one line per cause and minute, with a count. */
export function createCountedLog(app: FastifyInstance) {
  const repeats = new Map<string, { line: Line; count: number; timer: NodeJS.Timeout }>()
  let isClosing = false

  function summarize(key: string): void {
    const entry = repeats.get(key)
    if (entry === undefined) return
    clearTimeout(entry.timer)
    repeats.delete(key)
    const { line, count } = entry
    if (count === 0) return
    app.log[line.level](membersOf({ ...line, repeats: count }), line.message)
    // The flood may go on: the next line is another count.
    if (!isClosing) start(key, line)
  }
  function start(key: string, line: Line): void {
    const timer = setTimeout(() => summarize(key), intervalMs).unref()
    repeats.set(key, { line, count: 0, timer })
  }
  app.addHook('onClose', async () => {
    isClosing = true
    for (const key of [...repeats.keys()]) summarize(key)
  })
  /**
   * Logs the line at once, then counts repeats for a minute and logs their number. `log` may add
   * the id of the first request.
   */
  function write(line: Line, log: Log = app.log): void {
    // The log of the database says why a server is still starting.
    if (app.readiness.starting) return
    const { code, cause = '', message } = line
    const all = `${code} ${message} ${cause}`
    const key = repeats.has(all) || repeats.size < maxCauses ? all : code
    const entry = repeats.get(key)
    if (entry !== undefined) {
      entry.count += 1
      return
    }
    log[line.level](membersOf(line), message)
    start(key, line)
  }
  return {
    write,
    /** Logs an expected fault without its stack; returns false if the fault is unexpected. */
    writeExpected({ code, message, cause }: PubringError, log: Log): boolean {
      const level = floods[code]
      if (level !== undefined) write({ level, code, message, cause: describeCause(cause) }, log)
      return level !== undefined
    },
  }
}

function membersOf({ level: _level, message: _message, ...members }: Line & { repeats?: number }) {
  return members
}
