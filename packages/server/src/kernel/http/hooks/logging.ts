import type { IncomingMessage } from 'node:http'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyServerOptions,
  LogController,
} from 'fastify'
import sonicBoom from 'sonic-boom'
import { describeCause, type ErrorCode, type PubringError } from '../../../errors.ts'
import type { Credential } from '../../access/grants.ts'
import { redact } from '../../exposure/redaction.ts'
import type { Kernel } from '../../kernel.ts'
import { staleAfterMs } from '../../ledger/revision-watch.ts'
import type { HttpOptions } from '../options.ts'

/**
 * Disables Fastify's request log, which would contain raw URLs. All log output, by any component
 * and at any level, goes through `redact`.
 */
export function loggingOptions(
  options: HttpOptions,
): Pick<FastifyServerOptions, 'logger' | 'logController'> {
  const pretty = { target: 'pino-pretty', options: { ignore: 'pid,hostname', colorize: true } }
  return {
    logController: new LogController({
      disableRequestLogging: true,
      requestIdLogLabel: 'requestId',
    }),
    logger: {
      level: options.logLevel,
      serializers: { err: describeError },
      hooks: { streamWrite: redact },
      ...(options.logPretty
        ? { transport: pretty }
        : { stream: options.logStream ?? createLogStream() }),
    },
  }
}

/**
 * Writes to standard output without waiting for the system to take the lines, and what is left at
 * the exit. Lines that cannot be written, since the disk is full or a reader is more than 16 MiB
 * behind, are dropped: the server goes on without them.
 */
export function createLogStream() {
  const stream = new sonicBoom.SonicBoom({ fd: 1, sync: false, maxLength: 16 * 1_048_576 })
  let isWritable = true
  stream.on('error', () => {
    isWritable = false
  })
  stream.on('write', () => {
    isWritable = true
  })
  // flushSync tries until it succeeds.
  process.once('exit', () => isWritable && stream.flushSync())
  return stream
}

/**
 * Logs one line per request: operation, status, duration and API key id. It contains no header,
 * query, body or raw URL, and so no secret.
 */
export function addRequestLog(app: FastifyInstance): void {
  const isEnabled = () => ['info', 'debug', 'trace'].includes(app.log.level)
  app.requestRecords.observe(({ requestId, method, route, status, problem, ms, credential }) => {
    const code = problem?.code
    const rounded = Math.round(ms * 10) / 10
    const { type, id } = credential ?? {}
    const fields = { requestId, method, route, status, code, ms: rounded }
    app.log.info({ ...fields, ...(type && { [idMembers[type]]: id }) }, 'request')
  }, isEnabled)
}

const idMembers = {
  api_key: 'apiKeyId',
  session: 'sessionId',
  registration: 'registrationLinkId',
} as const satisfies Record<Credential['type'], string>

/** Name, message and stack of an error and its causes, without other members. */
function describeError(error: unknown): DescribedError {
  // A worker thread passes the cause of its error as text.
  if (!(error instanceof Error)) return { type: typeof error, message: String(error), stack: '' }
  const { name, message, stack = '', cause } = error
  return {
    type: name,
    message,
    stack,
    ...(cause === undefined ? {} : { cause: describeError(cause) }),
  }
}

interface DescribedError {
  type: string
  message: string
  stack: string
  cause?: DescribedError
  [member: string]: unknown
}

/** A finished request, for the log and the metrics. */
export interface RequestRecord {
  requestId: string
  method: string
  /** The pattern of its route; undefined if none matched. */
  route: string | undefined
  status: number
  problem?: PubringError | undefined
  /** Milliseconds from the head of the request to the last byte of the response. */
  ms: number
  credential?: Credential | undefined
  dataAgeMs?: number | undefined
  /** Whether it waited for a change, so that its duration does not measure the server. */
  wasHeld: boolean
}

export interface RequestRecords {
  /** `isEnabled` tells at any time whether the observer uses the records. */
  observe(observer: (record: RequestRecord) => void, isEnabled?: () => boolean): void
  hasObservers(): boolean
  report(record: RequestRecord): void
  /** Sets the arrival time (`performance.now()`) of a request that reaches the routes later. */
  markArrival(request: IncomingMessage, time: number): void
}

/** Reports each finished request, served by a route or the cache, to the log and the metrics. */
export function addRequestRecords(app: FastifyInstance): void {
  const observers: { observer: (record: RequestRecord) => void; isEnabled: () => boolean }[] = []
  const arrivals = new WeakMap<IncomingMessage, number>()
  app.decorateRequest('problem', undefined)
  app.decorateRequest('dataAgeMs', undefined)
  app.decorate('requestRecords', {
    observe: (observer, isEnabled = () => true) => void observers.push({ observer, isEnabled }),
    hasObservers: () => observers.some(({ isEnabled }) => isEnabled()),
    report(record) {
      for (const { observer, isEnabled } of observers) if (isEnabled()) observer(record)
    },
    markArrival: (request, time) => void arrivals.set(request, time),
  })
  app.addHook('onResponse', (request, reply, done) => {
    const arrival = arrivals.get(request.raw)
    app.requestRecords.report({
      requestId: request.id,
      method: request.method,
      route: request.is404 ? undefined : request.routeOptions.url,
      status: reply.statusCode,
      problem: request.problem,
      ms: arrival === undefined ? reply.elapsedTime : performance.now() - arrival,
      credential: request.principal?.credential,
      dataAgeMs: request.dataAgeMs,
      wasHeld: wasHeld(reply),
    })
    done()
  })
}

/** Held requests and event streams last until there is a change. */
function wasHeld(reply: FastifyReply): boolean {
  const isStream = reply.getHeader('content-type') === 'text/event-stream'
  return isStream || reply.hasHeader('preference-applied')
}

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

/** Time for the first read: connections are opened while the process is still starting. */
const startGraceMs = 5_000

/** How often a database is reported that stays away. */
const repeatMs = 60_000

const noAnswer = 'it does not answer'

/** Logs when a row contradicts its ledger. */
export function addContradictionLog(app: FastifyInstance, { store }: Kernel): void {
  store.contradictions.onRead(({ ledgerId, subject }) => {
    const message = 'the database contradicts its ledger, and what it contradicts is not served'
    const cause = `${subject}, ledger ${ledgerId}`
    app.countedLog.write({ level: 'error', code: 'contradicted', message, cause })
  })
}

/**
 * Logs one line when the database is lost, and once a minute while it is; one when it is back, and one
 * when another host becomes the primary. A server that starts reports a database that cannot be reached
 * as soon as its hosts have said why. Also counts connections that are closed because too many are open.
 */
export function addDatabaseLog(app: FastifyInstance, { watch, store, clock }: Kernel): void {
  let readTime = clock.monotonic()
  let lostTime: number | undefined
  let graceMs = startGraceMs
  let primary: string | undefined
  let cause = noAnswer

  function reportLost(): void {
    if (lostTime !== undefined && clock.monotonic() - lostTime < repeatMs) return
    lostTime = clock.monotonic()
    const message = app.readiness.starting
      ? 'the database is not ready: until it is, everything but /health/live gets 503'
      : 'the database cannot be read: key sets are served from memory, everything else gets 503'
    app.log.error({ host: primary, cause }, message)
  }
  watch.onRead(({ outcome, error }) => {
    if (outcome === 'completed') {
      const { primary: host = primary } = store.diagnostics()
      const awaySeconds = Math.round((clock.monotonic() - readTime) / 1_000)
      if (lostTime !== undefined) {
        app.log.info({ host, awaySeconds }, 'the database can be read again')
      }
      if (primary !== undefined && host !== primary) {
        app.log.warn({ host, before: primary }, 'the database has another primary')
      }
      primary = host
      readTime = clock.monotonic()
      lostTime = undefined
      graceMs = staleAfterMs
      cause = noAnswer
      return
    }
    const known = describeCause(app.readiness.starting ? Object(error).cause : error)
    if (outcome === 'failed') cause = known ?? cause
    const isKnown = app.readiness.starting && known !== undefined
    if (isKnown || watch.ageMs() > graceMs) reportLost()
  })
  app.server.on('drop', () => {
    const message = 'a connection was closed immediately: too many are open'
    app.countedLog.write({ level: 'warn', code: 'connection_dropped', message })
  })
}
