import type { Problem } from '../../contract/problem.ts'
import { type ErrorCode, errorTable, type PubringError } from '../../errors.ts'

/** A response in full: it goes out through Fastify, or to a bare socket where Fastify has no say. */
interface ProblemResponse {
  status: number
  headers: Record<string, string>
  body: string
}

/**
 * RFC 9110 section 11.6.1 asks every 401 for a challenge. No registered scheme describes a header
 * of one's own, so the scheme is ours and its parameter says which header is meant.
 */
const challenge = 'ApiKey realm="pubring", header="X-Api-Key"'

/** An error is data: nothing in it may be loaded, run or framed. */
const contentSecurityPolicy = "default-src 'none'; frame-ancestors 'none'"

/** Where a code is explained: the `type` of the problem, and a page that this server has. */
export function problemType(publicUrl: string, code: ErrorCode): string {
  return `${publicUrl}/docs/errors#${code}`
}

function problemBody(error: PubringError, requestId: string, publicUrl: string): Problem {
  const { status, title } = errorTable[error.code]
  const { errors, kid, limit } = error.extras
  return {
    type: problemType(publicUrl, error.code),
    title,
    status,
    detail: error.message,
    code: error.code,
    requestId,
    ...(errors === undefined ? {} : { errors }),
    ...(kid === undefined ? {} : { kid }),
    ...(limit === undefined ? {} : { limit }),
  }
}

/** The one renderer of errors: RFC 9457 problem details, never to be cached. */
export function renderProblem(
  error: PubringError,
  requestId: string,
  publicUrl: string,
): ProblemResponse {
  const body = JSON.stringify(problemBody(error, requestId, publicUrl))
  const { status } = errorTable[error.code]
  const { allow, retryAfter } = error.extras
  return {
    status,
    headers: {
      'content-type': 'application/problem+json',
      'content-length': String(Buffer.byteLength(body)),
      'cache-control': 'no-store',
      'content-security-policy': contentSecurityPolicy,
      'x-content-type-options': 'nosniff',
      'x-request-id': requestId,
      ...(status === 401 ? { 'www-authenticate': challenge } : {}),
      ...(allow === undefined ? {} : { allow: allow.join(', ') }),
      ...(status === 503 || status === 429 ? { 'retry-after': String(retryAfter ?? 1) } : {}),
    },
    body,
  }
}
