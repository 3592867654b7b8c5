import { type ErrorCode, errorTable, type PubringError } from '../../../errors.ts'
import type { Problem } from '../../contract/problem.ts'

type ProblemMembers = { [Name in keyof Problem]: Problem[Name] | undefined }

/** A complete response, sent through Fastify or written to a bare socket. */
export interface RenderedError {
  status: number
  headers: Record<string, string>
  body: string
}

/**
 * RFC 9110 section 11.6.1 requires a challenge in every 401. No registered scheme covers a custom
 * header, so this scheme is our own and its parameter names the header.
 */
const challenge = 'ApiKey realm="pubring", header="X-Api-Key"'

/** The `type` of a problem: the page on this server that explains the code. */
export function problemType(publicUrl: string, code: ErrorCode): string {
  return `${publicUrl}/docs/errors#${code}`
}

/** Renders an error as RFC 9457 problem details that must not be cached. */
export function renderProblem(
  error: PubringError,
  requestId: string,
  publicUrl: string,
): RenderedError {
  const { code, message: detail, extras } = error
  const { status, title } = errorTable[code]
  const { allow, retryAfter, errors, kid, limit, ended, next } = extras
  const problem = { type: problemType(publicUrl, code), title, status, detail, code, requestId }
  // JSON has none of the members that are undefined.
  const members: ProblemMembers = { ...problem, errors, kid, limit, ended, next }
  const body = JSON.stringify(members)
  return {
    status,
    headers: {
      'content-type': 'application/problem+json',
      'content-length': String(Buffer.byteLength(body)),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': requestId,
      ...(status === 401 ? { 'www-authenticate': challenge } : {}),
      ...(allow === undefined ? {} : { allow: allow.join(', ') }),
      ...(status === 503 || status === 429 ? { 'retry-after': String(retryAfter ?? 1) } : {}),
    },
    body,
  }
}
