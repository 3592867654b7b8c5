import { type FastifyInstance, type FastifyServerOptions, LogController } from 'fastify'
import { destination } from 'pino'
import { redact } from '../../core/redaction.ts'
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

/** Bytes that Linux writes into a pipe undivided (PIPE_BUF), so that workers can share one. */
const maxWriteBytes = 4_096

/**
 * Writes the lines of a turn of the event loop to standard output together, because one system call
 * costs more than making a line. Waits until the system has taken them. A process that is killed
 * loses at most those of the current turn.
 */
export function createLogStream(): { write(line: string): void } {
  const output = destination({ sync: true, minLength: maxWriteBytes - 1, maxWrite: maxWriteBytes })
  let isScheduled = false
  const flush = () => {
    isScheduled = false
    output.flush()
  }
  process.once('exit', flush)
  return {
    write(line) {
      output.write(line)
      if (isScheduled) return
      isScheduled = true
      setImmediate(flush)
    },
  }
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
    const [sessionId, apiKeyId] = type === 'session' ? [id] : [undefined, id]
    const fields = { requestId, method, route, status, code, ms: rounded, sessionId, apiKeyId }
    app.log.info(fields, 'request')
  }, isEnabled)
}

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
