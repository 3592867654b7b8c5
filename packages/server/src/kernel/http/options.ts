import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify'
import type { Rate } from '../context.ts'

/** The options of the HTTP layer. Those of the configuration have the same names there. */
export interface HttpOptions {
  /** Base of every URL in a response, without a final slash: `https://keys.example.com/base`. */
  publicUrl: string
  /**
   * Proxies whose entries in `X-Forwarded-For` are trusted: none, those at these addresses, or
   * (true) only the peer.
   */
  trustProxy: boolean | string[]
  /** pino's level; `silent` disables the log. */
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
  /** Limit per API key; none if absent. */
  rateLimit?: Rate | undefined
  /** Limit per client address on the public operations; none if absent. */
  publicRateLimit?: Rate | undefined
  /** Limit of changes per API key; none if absent. */
  writeLimit?: Rate | undefined
  /** Limit of failed authentications per client address; none if absent. */
  authFailureLimit?: Rate | undefined
  /** Event loop lag in milliseconds above which requests are rejected; 500 if absent. 0: never. */
  overloadLagMs?: number
  /** Whether metrics are collected for Prometheus; false if absent. */
  metrics?: boolean
  /** Log readable lines, for a terminal, instead of JSON. */
  logPretty: boolean
  /** Receives the log line by line; standard output if absent. */
  logStream?: { write(line: string): void }
}

/** The application with the types of requests and responses from their TypeBox schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>
