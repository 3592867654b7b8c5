import { type FastifyInstance, type FastifyServerOptions, LogController } from 'fastify'
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
      ...(options.logPretty ? { transport: pretty } : {}),
      ...(options.logStream === undefined ? {} : { stream: options.logStream }),
    },
  }
}

/** Levels that include the request log. */
const requestLogLevels: readonly string[] = ['info', 'debug', 'trace']

/**
 * Logs one line per request: operation, status, duration and API key id. It contains no header,
 * query, body or raw URL, and so no secret.
 */
export function addRequestLog(app: FastifyInstance): void {
  const isEnabled = () => requestLogLevels.includes(app.log.level)
  app.requestRecords.observe(({ requestId, method, route, status, problem, ms, credential }) => {
    const code = problem?.code
    const rounded = Math.round(ms * 10) / 10
    const { type, id } = credential ?? {}
    const caller = type === 'session' ? { sessionId: id } : { apiKeyId: id }
    app.log.info({ requestId, method, route, status, code, ms: rounded, ...caller }, 'request')
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
