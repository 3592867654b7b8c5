import type { Refusal } from '../../async/places.ts'
import { PubringError } from '../../errors.ts'
import { nearest } from '../../nearest.ts'

/** Fastify errors that the caller caused; all others are internal errors. */
const frameworkFaults: Record<string, (bodyLimit: number) => PubringError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: (limit) =>
    new PubringError(
      'body_too_large',
      `The body may have at most ${limit} bytes. A key or a token needs far less: send one alone, or fewer per request.`,
      { limit },
    ),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => unsupportedMediaType('application/json'),
  FST_ERR_CTP_EMPTY_TYPE: () => unsupportedMediaType('application/json'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: incompleteBody,
  FST_ERR_BAD_URL: () =>
    new PubringError(
      'invalid_request',
      'The URL is not valid: each % must be followed by two hexadecimal digits, and the result must be UTF-8.',
    ),
  FST_ERR_MAX_PARAM_LENGTH: () =>
    new PubringError('invalid_request', 'A segment of the URL path is too long.'),
}

export function unsupportedMediaType(accepted: string): PubringError {
  return new PubringError(
    'unsupported_media_type',
    `Send the body as JSON in UTF-8, without compression, with the header Content-Type: ${accepted}.`,
  )
}

function incompleteBody(): PubringError {
  return new PubringError(
    'invalid_request',
    'The body ended early, or its length differs from Content-Length. Send the request again.',
  )
}

/** The error for a request that gets no place: all are taken, or the caller has its share of them. */
export function noPlace(
  refusal: Refusal,
  details: Record<Refusal, string>,
  retryAfter: number,
): PubringError {
  const code = refusal === 'full' ? 'overloaded' : 'rate_limited'
  return new PubringError(code, details[refusal], { retryAfter })
}

/** Converts any error to one that callers may see: unknown errors become `internal`. */
export function toPubringError(error: unknown, bodyLimit: number): PubringError {
  if (error instanceof PubringError) return error
  const code = memberOf(error, 'code')
  const known = frameworkFaults[String(code)]
  if (known !== undefined) return known(bodyLimit)
  // Fastify sets 400 on a body stream that failed because the client disconnected.
  if (code === 'ECONNRESET' && memberOf(error, 'statusCode') === 400) return incompleteBody()
  // The client left before the first byte of a streamed response, and does not receive this.
  if (code === 'ERR_STREAM_PREMATURE_CLOSE') {
    return new PubringError('invalid_request', 'The connection was closed before the response.')
  }
  return new PubringError(
    'internal',
    'Something went wrong on the server. Try again; if the error persists, report the requestId.',
    {},
    error,
  )
}

function memberOf(error: unknown, name: string): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined
}

/** A name rather than a pasted secret: errors repeat at most 23 characters of it. */
const shortName = /^[\w$.-]{1,23}$/

/** The quoted name if an error may repeat it, otherwise the fallback. */
export function printableName(name: string, fallback: string): string {
  return shortName.test(name) ? `"${name}"` : fallback
}

/** The valid name that a caller most likely meant. */
export function suggestedName(name: string, valid: readonly string[]): string | undefined {
  return shortName.test(name) ? nearest(name, valid) : undefined
}
