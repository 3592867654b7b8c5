import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, errorTable, PubringError } from '../../errors.ts'
import { on } from '../../kernel/hooks.ts'
import { anyObjectAsBody } from '../../kernel/http/body/validation.ts'
import {
  type RenderedError,
  recordProblem,
  renderProblem,
  sendError,
} from '../../kernel/http/errors.ts'
import { createLimit, type Spend } from '../../kernel/http/hooks/rate-limits.ts'
import type { App } from '../../kernel/http/options.ts'
import { clientAddress } from '../../kernel/http/request/headers.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { issuerKeysOf } from '../access-rules/issuer-keys.ts'
import { keySubmitted } from '../keys/changes.ts'
import { refusedToken } from './changes.ts'
import { TokenExchangeError, TokenExchangeRequest, TokenExchangeResponse } from './contract.ts'
import { createTokenExchange, FormFault, requireProof } from './exchange.ts'

/**
 * Refused tokens a minute of one client address, and exchanges under one rule, on each replica: ten a
 * second, far more than pipelines need, since an API key is used for minutes.
 */
const defaultExchangeLimit = { limit: 600, window: 60 }

/**
 * Milliseconds from the arrival of a token to its refusal: longer than it usually takes to fetch the
 * keys of an issuer, so that the time does not tell which issuers are known.
 */
const defaultRefusalDelayMs = 500

export const hooks = [on(keySubmitted, requireProof)]

declare module 'fastify' {
  interface FastifyRequest {
    /** The access rule that accepted the token of an exchange. */
    accessRuleId: string | undefined
  }
}

/** Long because it is one record. */
export function routes(app: App, kernel: Kernel): void {
  const exchange = createTokenExchange(kernel, issuerKeysOf(kernel))
  const { publicUrl, refusalDelayMs = defaultRefusalDelayMs } = kernel.config
  const { spendByAddress, spendByRule } = createLimits(kernel)
  app.decorateRequest('accessRuleId', undefined)
  app.route({
    method: 'POST',
    url: '/v1/token',
    config: { form: true },
    validatorCompiler: anyObjectAsBody,
    schema: {
      operationId: 'exchangeToken',
      summary: 'Exchange a token for an API key',
      description:
        'RFC 8693. A workload sends the token that its platform gave it, and gets an API key of minutes if an access rule accepts the token. It is valid until the token expires, for `maxLifetime` at most, and until the rule changes. Exchanges are limited per rule, and refused tokens per client address.',
      body: TokenExchangeRequest,
      response: {
        200: TokenExchangeResponse,
        400: TokenExchangeError,
        429: TokenExchangeError,
        500: TokenExchangeError,
        503: TokenExchangeError,
      },
    },
    handler: async (request, reply) => {
      const parameters = request.body as Record<string, string>
      const accepted = await exchange.accept(parameters).catch((error) => {
        // Afterwards, so that bad and used tokens never keep out a good one from the same address.
        if (error instanceof PubringError && error.code === 'invalid_request') {
          spendByAddress(clientAddress(request), reply)
        }
        throw error
      })
      request.accessRuleId = accepted.rule.id
      spendByRule(accepted.rule.id, reply)
      const response = await exchange.issue(accepted, request.id)
      return reply.header('cache-control', 'no-store').send(response)
    },
    errorHandler: async (error, request, reply) => {
      const problem = recordProblem(error, request)
      const rendered = renderOAuthError(problem, request, publicUrl)
      if (rendered.status === 400) forgetRule(request, reply)
      if (request.accessRuleId === undefined) {
        await delay(Math.max(0, refusalDelayMs - reply.elapsedTime))
      }
      return sendError(request, reply, problem, rendered)
    },
  })
}

/** Nothing of the response tells that a rule accepts the token, although it was used before. */
function forgetRule(request: FastifyRequest, reply: FastifyReply): void {
  request.accessRuleId = undefined
  reply.removeHeader('ratelimit').removeHeader('ratelimit-policy')
}

function createLimits({ clock, config: { exchangeLimit: rate = defaultExchangeLimit } }: Kernel) {
  const limit = (name: string): Spend =>
    createLimit(clock, { name, rate, reason: 'Too many tokens are exchanged.' })
  return { spendByAddress: limit('exchanges'), spendByRule: limit('rule') }
}

/** Faults of requests whose body is not a form. */
const formCodes: Partial<Record<ErrorCode, string>> = {
  unsupported_media_type:
    'Send the parameters as a form: Content-Type: application/x-www-form-urlencoded.',
  body_too_large: 'The form is too large.',
}

/** The fault of the form that keeps the parameters from being read. */
function formFaultOf(problem: PubringError, request: FastifyRequest): FormFault | undefined {
  if (problem instanceof FormFault) return problem
  const isUnread = request.body === undefined && problem.code === 'invalid_request'
  const detail = formCodes[problem.code] ?? (isUnread ? problem.message : undefined)
  return detail === undefined ? undefined : new FormFault('invalid_request', detail)
}

/**
 * RFC 6749 section 5.2. The response has the same bytes for every fault of a token; only those of the
 * form, limits and faults of the server differ, which do not depend on it.
 */
function renderOAuthError(
  problem: PubringError,
  request: FastifyRequest,
  publicUrl: string,
): RenderedError {
  const { status, title } = errorTable[problem.code]
  const isRefusal = status < 500 && status !== 429
  const known = isRefusal ? (formFaultOf(problem, request) ?? refusedToken()) : problem
  const failure = status === 500 ? 'server_error' : 'temporarily_unavailable'
  const refusal = known instanceof FormFault ? known.error : 'invalid_request'
  const body = JSON.stringify({
    error: isRefusal ? refusal : failure,
    error_description: isRefusal ? known.message : `${title}.`,
  })
  const { status: shown, headers } = renderProblem(known, request.id, publicUrl)
  return {
    status: shown,
    headers: {
      ...headers,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    },
    body,
  }
}
