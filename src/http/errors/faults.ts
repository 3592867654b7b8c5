import { PubringError } from '../../errors.ts'

/** What Fastify's own errors mean to a caller. Every other one is a fault of ours. */
const frameworkFaults: Record<string, (limits: { body: number }) => PubringError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ({ body }) => bodyTooLarge(body),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => unsupportedMediaType('application/json'),
  FST_ERR_CTP_EMPTY_TYPE: () => unsupportedMediaType('application/json'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => incompleteBody(),
  FST_ERR_BAD_URL: () =>
    new PubringError(
      'invalid_request',
      'The address is not valid: a % in it must be followed by two hexadecimal digits that make UTF-8.',
    ),
  FST_ERR_MAX_PARAM_LENGTH: () =>
    new PubringError('invalid_request', 'A part of the address is too long.'),
}

function bodyTooLarge(limit: number): PubringError {
  return new PubringError(
    'body_too_large',
    `The body may have at most ${limit} bytes. A key or a token needs far less: send it alone, or fewer of them.`,
    { limit },
  )
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
    'The body ended early, or its length is not the one that Content-Length says.',
  )
}

/** Any error as one that a caller may see; what is unknown becomes `internal` and says nothing. */
export function toPubringError(error: unknown, limits: { body: number }): PubringError {
  if (error instanceof PubringError) return error
  const known = frameworkFaults[memberOf(error, 'code') ?? '']
  if (known !== undefined) return known(limits)
  // Fastify sets 400 on a body stream that failed: the caller went away in the middle of it.
  if (memberOf(error, 'code') === 'ECONNRESET' && statusOf(error) === 400) return incompleteBody()
  return new PubringError(
    'internal',
    'Something went wrong on our side. Try again; if it stays, report the requestId.',
    {},
    error,
  )
}

function memberOf(error: unknown, name: string): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const value: unknown = Reflect.get(error, name)
  return typeof value === 'string' ? value : undefined
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const value: unknown = Reflect.get(error, 'statusCode')
  return typeof value === 'number' ? value : undefined
}
