import { type FastifyInstance, type FastifyServerOptions, LogController } from 'fastify'
import sonicBoom from 'sonic-boom'
import { redact } from '../../exposure/redaction.ts'
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
