import { type FastifyInstance, type FastifyServerOptions, LogController } from 'fastify'
import { redact } from '../../core/redaction.ts'
import type { HttpOptions } from '../options.ts'

/**
 * Fastify's own lines are off: they would show raw addresses, which may hold anything. Whatever is
 * logged all the same, by whom and at what level ever, goes through `redact`.
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

/** The levels at which requests are logged. */
const requestLogLevels: readonly string[] = ['info', 'debug', 'trace']

/**
 * One line per request: which operation, how it ended, how long it took and on whose behalf. No
 * header, query, body or raw address, and so no secret.
 */
export function addRequestLog(app: FastifyInstance, { logLevel }: HttpOptions): void {
  if (!requestLogLevels.includes(logLevel)) return
  app.outcomes.observe(({ requestId, method, route, status, problem, ms, apiKeyId }) => {
    const code = problem?.code
    const rounded = Math.round(ms * 10) / 10
    app.log.info({ requestId, method, route, status, code, ms: rounded, apiKeyId }, 'request')
  })
}

/** Kind, words and place of an error and of its causes; none of its other members. */
function describeError(error: unknown): DescribedError {
  // A thread hands over the cause of its error as text.
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
