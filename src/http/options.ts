import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify'

/** What the HTTP layer needs of the configuration. */
export interface HttpOptions {
  /** Base of every advertised address, without a final slash: `https://keys.example.com/base`. */
  publicUrl: string
  /**
   * Whose `X-Forwarded-For` is believed: nobody's, that of the proxies at these addresses, or (true)
   * that of whoever connects. What was written before them, by anybody, is not.
   */
  trustProxy: boolean | string[]
  /** Bytes. */
  bodyLimit: number
  /** Bytes that the body of an import may have; absent: as every other one. */
  importBodyLimit?: number
  /** Entries that a page may have at most; absent: 200. */
  maxPageSize?: number
  /** pino's level; `silent` switches the log off. */
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
  /** What each API key may ask for; absent: as much as it likes. */
  rateLimit?: Rate | undefined
  /** What each client address may ask for without an API key; absent: as much as it likes. */
  publicRateLimit?: Rate | undefined
  /** Milliseconds by which the event loop may lag before requests are refused; 0 or absent: any. */
  overloadLag?: number
  /** Whether anything is counted for Prometheus; absent: no. */
  metrics?: boolean
  /** Readable lines instead of JSON ones: for a terminal. */
  logPretty: boolean
  /** Where the log goes, a line at a time; absent: to the standard output. */
  logStream?: { write(line: string): void }
}

/** So many requests in so many seconds. */
export interface Rate {
  limit: number
  window: number
}

/** The application as its routes see it: types come from the TypeBox schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>
