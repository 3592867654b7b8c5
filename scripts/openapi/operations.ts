import type { FastifyContextConfig, FastifySchema } from 'fastify'
import type { TSchema } from 'typebox'
import { type ErrorCode, errorTable } from '../../packages/server/src/errors.ts'
import type { ResponseHeader } from '../../packages/server/src/kernel/http/decorations.ts'
import { problemType } from '../../packages/server/src/kernel/http/errors.ts'

const headers = {
  'X-Request-Id': 'Id of this request, which the log and every error contain.',
  Location: 'URL of the new resource.',
  'Set-Cookie': 'Secret of the session, which scripts cannot read.',
  'Pubring-State': '`fresh` or `stale`: whether key sets come from the database or from memory.',
  ETag: 'Strong validator for `If-None-Match` (and for `If-Match`, where a change accepts it).',
  'Cache-Control':
    '`public, max-age=N`: how long caches may reuse it, never past the next `expireTime`.',
  'Access-Control-Allow-Origin': '`*`: scripts of every origin may read it.',
  Age: 'Seconds since it was read from the database; only if that is unavailable.',
  'Preference-Applied': '`wait=N`: the request would have waited up to N seconds (RFC 7240).',
  'Content-Location': 'On a key set by name: its URL by the id of the project.',
  'Pubring-Revision':
    '`REVISION.HASH8`: the last event of the project that the key set accounts for, with the first 8 characters of its hash. A lower revision, or another hash, shows that the database was restored.',
  Vary: '`Accept`, which selects the media type.',
  Link: 'RFC 8288; `rel="next"` is the next page.',
  'Retry-After': 'Seconds to wait before the next attempt.',
  RateLimit: '`r`: remaining requests, `t`: seconds until the limit resets.',
  'RateLimit-Policy': '`q`: allowed requests, `w`: window in seconds.',
  'WWW-Authenticate': 'Names the header that carries the API key.',
} as const satisfies Record<ResponseHeader, string> & Record<string, string>

interface Operation {
  method: string | string[]
  url: string
  schema: FastifySchema
  config: FastifyContextConfig
}

/** Errors that are sent before a request has a route. */
const earlyErrors = [
  'request_timeout',
  'headers_too_large',
  'unsupported_transfer_encoding',
] as const satisfies ErrorCode[]

/** Errors possible for every request. */
const baseErrors = ['invalid_request', ...earlyErrors, 'internal'] as const

/** Errors possible for every request except health checks. */
const loadErrors = ['rate_limited', 'overloaded'] as const

/** The errors of an operation: those it declares and those that follow from its schema. */
function errorsOf({ method, url, schema, config }: Operation): ErrorCode[] {
  const { access } = config
  const errors: ErrorCode[] = [...(config.errors ?? []), ...baseErrors]
  if (!config.unlimited) errors.push(...loadErrors)
  if (access !== undefined) {
    errors.push('missing_api_key', 'invalid_api_key', 'invalid_session', 'cross_site_request')
    errors.push('storage_unavailable')
    if (access.role !== 'reader' || access.unbound) errors.push('insufficient_role')
    const { recentSignIn = 'never' } = access
    if (recentSignIn !== 'never') errors.push('recent_sign_in_required')
    if (url.includes(':projectIdOrName')) errors.push('project_not_found')
  }
  if (schema.body !== undefined) {
    // Every body is searched for a private key, also one that is rejected for another reason.
    errors.push('invalid_json', 'unsupported_media_type', 'private_key_submitted')
  }
  if (![method].flat().includes('GET')) errors.push('body_too_large')
  const codes = new Set(errors)
  return errorCodes.filter((code) => codes.has(code))
}

const errorCodes = Object.keys(errorTable).filter((code): code is ErrorCode => code in errorTable)

/** The responses of an operation in OpenAPI: its successes, 304, and every error. */
export function responsesOf(operation: Operation, publicUrl: string): Record<string, unknown> {
  const { schema, config } = operation
  const names = ['X-Request-Id', ...(config.headers ?? []), ...(config.etag ? ['ETag'] : [])]
  const successes = Object.entries(schema.response ?? {}).map(([status, body]) => [
    status,
    {
      ...contentOf(body, config.mediaTypes),
      description: describe(body),
      headers: headersOf(names),
    },
  ])
  return {
    ...Object.fromEntries(successes),
    ...(config.etag ? { 304: { ...notModified, headers: headersOf(names) } } : {}),
    ...problemResponses(
      // A form has errors of its own, in the format of OAuth.
      config.form ? [...earlyErrors] : errorsOf(operation),
      publicUrl,
      names.filter((name) => name === 'Access-Control-Allow-Origin'),
    ),
  }
}

const notModified = {
  type: 'null',
  description: 'Not modified since the `ETag` in `If-None-Match`.',
}

function contentOf(
  body: unknown,
  others: Record<string, TSchema> | undefined,
): Record<string, unknown> {
  if (others === undefined) return reference(body)
  const all = Object.entries({ 'application/json': body, ...others })
  const content = all.map(([mediaType, schema]) => [mediaType, { schema: reference(schema) }])
  return { content: Object.fromEntries(content) }
}

function problemResponses(
  codes: ErrorCode[],
  publicUrl: string,
  names: readonly string[],
): Record<string, unknown> {
  const byStatus = Map.groupBy(codes, (code) => errorTable[code].status)
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      {
        description: group.map((code) => `\`${code}\`: ${errorTable[code].title}.`).join(' '),
        headers: headersOf([
          'X-Request-Id',
          ...names,
          ...(status === 401 ? ['WWW-Authenticate'] : []),
          ...(status === 503 || status === 429 ? ['Retry-After'] : []),
          ...(status === 429 ? ['RateLimit', 'RateLimit-Policy'] : []),
        ]),
        content: { 'application/problem+json': problemContent(group, publicUrl) },
      },
    ]),
  )
}

function problemContent(codes: ErrorCode[], publicUrl: string): Record<string, unknown> {
  const [first] = codes
  const status = first === undefined ? 500 : errorTable[first].status
  return {
    schema: {
      allOf: [
        { $ref: 'Problem#' },
        {
          type: 'object',
          properties: {
            status: { type: 'integer', enum: [status] },
            code: { type: 'string', enum: codes },
          },
        },
      ],
    },
    examples: Object.fromEntries(codes.map((code) => [code, problemExample(code, publicUrl)])),
  }
}

function problemExample(code: ErrorCode, publicUrl: string): Record<string, unknown> {
  const { title, status } = errorTable[code]
  const requestId = '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71'
  const type = problemType(publicUrl, code)
  return { summary: title, value: { type, title, status, detail: `${title}.`, code, requestId } }
}

function headersOf(names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => names.includes(name))
      .map(([name, description]) => [name, { type: 'string', description }]),
  )
}

/** Replaces a schema that has an `$id` by a reference to its component. */
export function reference(schema: unknown): Record<string, unknown> {
  if (typeof schema !== 'object' || schema === null) return {}
  if ('$id' in schema) return { $ref: `${schema.$id}#` }
  if ('items' in schema) return { ...schema, items: reference(schema.items) }
  return { ...schema }
}

function describe(schema: unknown): string {
  if (typeof schema !== 'object' || schema === null) return 'Success.'
  if ('description' in schema) return String(schema.description)
  return 'items' in schema ? 'The list.' : 'Success.'
}
