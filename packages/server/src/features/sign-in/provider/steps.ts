/** The steps of a sign-in up to the tokens: what the browser brings, and the exchange of its code. */
import type { Context, OidcConfig } from '../../../kernel/context.ts'
import { OutboundError } from '../../../outbound/outbound.ts'
import { isObject, parseJson } from '../../../runtime/json.ts'
import type { DecodedToken } from '../../../tokens/decode.ts'
import { failed, passed, quote, warned } from '../../../tokens/findings.ts'
import { authenticators } from './client-authentication.ts'
import type { SignInFinding } from './refusal.ts'

/** Seconds by which the provider's clock may be ahead or behind. */
export const clockTolerance = 60

/** The provider as its discovery document describes it. */
export interface Metadata {
  authorizationEndpoint: string
  tokenEndpoint: string
  jwksUri: string
  document: Record<string, unknown>
}

/** The dependencies of requests to the provider. */
export interface KnownProvider {
  context: Pick<Context, 'fetch'>
  config: OidcConfig
  metadata: Metadata
}

/** The provider's responses, and the findings of the steps in them. */
export interface Answer {
  idToken?: string
  accessToken: string
  token?: DecodedToken
  claims: Record<string, unknown>
  /** Claims of the user info, without and with a signature. */
  more: Record<string, unknown>
  signedMore: Record<string, unknown>
}

/** The authorization response (RFC 6749 section 4.1.2, RFC 9207). Its `state` was compared before. */
export function checkResponse(
  parameters: URLSearchParams,
  { config: { issuer }, metadata: { document } }: KnownProvider,
): SignInFinding {
  const repeated = [...new Set(parameters.keys())].find(
    (name) => parameters.getAll(name).length > 1,
  )
  if (repeated !== undefined) return failed(`The response has ${quote(repeated)} twice.`)
  const iss = parameters.get('iss')
  if (iss !== null && iss !== issuer) {
    return failed(`The response is from the issuer ${quote(iss, 200)}, not from ${issuer}.`)
  }
  const error = parameters.get('error')
  if (error !== null) {
    return refusedBy('The authorization endpoint', error, parameters.get('error_description'))
  }
  if (iss === null && document.authorization_response_iss_parameter_supported === true) {
    return failed(`The response lacks iss, which ${issuer} sends.`)
  }
  return parameters.get('code') ? passed('It has a code.') : failed('The response has no code.')
}

/** Advice about errors of RFC 6749 sections 4.1.2.1 and 5.2, and OpenID Connect Core 3.1.2.6. */
const advice: Readonly<Record<string, string>> = {
  invalid_client:
    'The client id, the client secret or the private key of PUBRING_OIDC_… is wrong or has expired, or the provider wants another way of authentication for this client.',
  unauthorized_client: 'The provider does not allow this client the authorization code grant.',
  invalid_grant:
    'The code was used before, has expired, or was issued to another client or for another redirect address.',
  invalid_scope: 'The provider does not give this client a scope of PUBRING_OIDC_SCOPES.',
}

const maxShown = 300

/** A refusal in the provider's own words, which are safe to show. */
function refusedBy(endpoint: string, error: string, description: unknown): SignInFinding {
  const said = typeof description === 'string' && description !== '' ? description : undefined
  const words = said === undefined ? quote(error) : `${quote(error)}, ${quote(said, maxShown)}`
  const shown =
    error === 'access_denied'
      ? `The OpenID provider did not let you in, or you cancelled the sign-in: ${words}.`
      : `The OpenID provider refused the sign-in: ${words}.`
  const detail = `${endpoint} refused with ${words}. ${advice[error] ?? ''}`.trimEnd()
  return { ...failed(detail), shown }
}

interface TokenForm {
  code: string
  redirect_uri: string
  code_verifier: string
}

/** Exchanges the code (OpenID Connect Core 1.0 section 3.1.3), and notes the tokens. */
export async function checkCode(
  provider: KnownProvider,
  form: TokenForm,
  answer: Answer,
): Promise<SignInFinding> {
  const outcome = await requestTokens(provider, form)
  if ('outcome' in outcome) return outcome
  const { id_token: idToken, access_token: accessToken } = outcome.body
  if (typeof idToken !== 'string') {
    return failed(
      `${provider.metadata.tokenEndpoint} sent no id_token. PUBRING_OIDC_SCOPES must have openid.`,
    )
  }
  answer.idToken = idToken
  if (typeof accessToken === 'string') answer.accessToken = accessToken
  return passed('The provider exchanged the code.')
}

/** Whether the provider knows the client and its credentials: it refuses the code alone. */
export async function checkCredentials(
  provider: KnownProvider,
  redirectUri: string,
): Promise<SignInFinding> {
  const form = { code: 'pubring-doctor', redirect_uri: redirectUri, code_verifier: 'x'.repeat(43) }
  const outcome = await requestTokens(provider, form)
  if (!('outcome' in outcome)) return warned('The provider accepts any code.')
  if (outcome.code === 'invalid_grant') return passed('The provider accepts the client.')
  return ['invalid_client', 'unauthorized_client'].includes(outcome.code ?? '') || outcome.error
    ? outcome
    : warned(outcome.detail)
}

/** The response of the token endpoint, or why there is none; `code` is its OAuth error. */
async function requestTokens(
  { context, config, metadata }: KnownProvider,
  form: TokenForm,
): Promise<{ body: Record<string, unknown> } | (SignInFinding & { code?: string })> {
  const { tokenEndpoint } = metadata
  let refusal: SignInFinding & { code?: string } = failed(
    `The provider offers neither client_secret_basic nor client_secret_post, but ${[metadata.document.token_endpoint_auth_methods_supported].join(', ')}.`,
  )
  for (const authenticate of authenticators(config, metadata.document)) {
    const body = new URLSearchParams({ grant_type: 'authorization_code', ...form })
    const headers = new Headers({ accept: 'application/json' })
    await authenticate(body, headers)
    const response = await context
      .fetch(tokenEndpoint, { method: 'POST', body, headers })
      .catch(outboundError)
    if (response instanceof OutboundError) return { ...failed(response.message), error: response }
    const { status } = response
    const value = parseJson(await response.text())
    if (status === 200 && isObject(value)) return { body: value }
    const answered = `${tokenEndpoint} responded with the status ${status}`
    const { error, error_description: description } = isObject(value) ? value : {}
    if (typeof error !== 'string') {
      const form = value === undefined ? ', and without JSON' : ''
      const finding = failed(`${answered}${form}.`)
      return status < 500 ? finding : { ...finding, error: new OutboundError(finding.detail) }
    }
    const { clientSecret } = config
    const said =
      typeof description === 'string' && clientSecret
        ? description.replaceAll(clientSecret, '…')
        : description
    refusal = { ...refusedBy(answered, error, said), code: error }
    if (error !== 'invalid_client') return refusal
  }
  return refusal
}

export function outboundError(error: unknown): OutboundError {
  if (error instanceof OutboundError) return error
  throw error
}
