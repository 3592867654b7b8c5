/** The steps of a sign-in up to the tokens: the way to the provider and back, and the exchange of the code. */
import { hash } from 'node:crypto'
import type { Context, OidcConfig } from '../../../kernel/context.ts'
import { OutboundError } from '../../../outbound/outbound.ts'
import { isObject, parseJson } from '../../../runtime/json.ts'
import type { DecodedToken } from '../../../tokens/decode.ts'
import { failed, passed, quote, skipped, warned } from '../../../tokens/findings.ts'
import { authenticationOf } from './client-authentication.ts'
import type { SignInFinding } from './refusal.ts'

/** Seconds by which the provider's clock may be ahead or behind. */
export const clockTolerance = 60

/** The provider as its discovery document describes it. */
export interface Metadata {
  authorizationEndpoint: string
  tokenEndpoint: string
  jwksUri: string
  document: Record<string, unknown>
  /** The headers of the response with the document. */
  headers: Headers
}

/** The dependencies of requests to the provider. */
export interface KnownProvider {
  context: Pick<Context, 'clock' | 'fetch'>
  config: OidcConfig
  metadata: Metadata
  redirectUri: string
}

/** The values that tie a sign-in at the provider to the browser that began it. */
export interface SignInChecks {
  state: string
  nonce: string
  codeVerifier: string
  /** Seconds since the person proved who they are; absent if that does not matter. */
  maxAge?: number
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

/** Where to send the browser (OpenID Connect Core 1.0 section 3.1.2.1). */
export function authorizationUrl(
  { config, metadata, redirectUri }: KnownProvider,
  { state, nonce, codeVerifier, maxAge }: SignInChecks,
): string {
  return withParameters(metadata.authorizationEndpoint, {
    response_type: 'code',
    client_id: config.clientId,
    redirect_uri: redirectUri,
    scope: config.scopes,
    state,
    nonce,
    code_challenge: hash('sha256', codeVerifier, 'base64url'),
    code_challenge_method: 'S256',
    // `prompt` can be removed on the way through the browser, so the age is checked as well.
    ...(maxAge === undefined ? {} : { prompt: 'login', max_age: String(maxAge) }),
  })
}

export function withParameters(address: string, parameters: Record<string, string>): string {
  const url = new URL(address)
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

/** The values of a sign-in that nobody finishes. */
const trial = { state: 'pubring-doctor', nonce: 'pubring-doctor', codeVerifier: 'x'.repeat(43) }

/** Statuses of pages on which providers refuse a client, a redirect address or a scope. */
const refusalStatuses = [400, 401, 404]

/** Redirects to other pages of the provider that are followed. */
const maxRedirects = 3

/** Whether the provider lets people begin to sign in. It says so to their browser alone, if anywhere. */
export async function checkAuthorization(provider: KnownProvider): Promise<SignInFinding> {
  const first = new URL(authorizationUrl(provider, trial))
  const cookies = new Map<string, string>()
  let url = first
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const response = await provider.context.fetch(url, { headers: { cookie } }).catch(outboundError)
    // Browsers may reach it where this server does not.
    if (response instanceof OutboundError) return skipped(`Not tried: ${response.message}`)
    const { status, headers } = response
    if (refusalStatuses.includes(status)) {
      return failed(
        `${url.origin}${url.pathname} responded with the status ${status} to ${asked(provider)}. Register this client there with this redirect address, and enable it. A browser shows what it says.`,
      )
    }
    const location = headers.get('location')
    const next = location === null ? null : URL.parse(location, url)
    const error = next?.searchParams.get('error')
    if (next && error) return refusedBy(provider, error, next.searchParams.get('error_description'))
    if (next?.origin !== first.origin) break
    for (const line of headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (name !== undefined && value !== undefined) cookies.set(name, value)
    }
    url = next
  }
  return passed('It lets people begin to sign in.')
}

/** The authorization response (RFC 6749 section 4.1.2, RFC 9207). Its `state` was compared before. */
export function checkResponse(parameters: URLSearchParams, provider: KnownProvider): SignInFinding {
  const { issuer } = provider.config
  const { document } = provider.metadata
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
    return refusedBy(provider, error, parameters.get('error_description'))
  }
  if (iss === null && document.authorization_response_iss_parameter_supported === true) {
    return failed(`The response lacks iss, which ${issuer} sends.`)
  }
  return parameters.get('code') ? passed('It has a code.') : failed('The response has no code.')
}

const noCodeGrant = 'The provider does not allow this client the authorization code grant.'

/** Advice about errors of RFC 6749 sections 4.1.2.1 and 5.2, and OpenID Connect Core 3.1.2.6. */
const advice: Readonly<Record<string, string>> = {
  invalid_client:
    'The client id, the client secret or the private key of PUBRING_OIDC_… is wrong or has expired, or the provider wants another way of authentication for this client.',
  unauthorized_client: noCodeGrant,
  unsupported_grant_type: noCodeGrant,
  unsupported_response_type: noCodeGrant,
  invalid_grant:
    'The code was used before, has expired, or was issued to another client or for another redirect address.',
  invalid_scope: 'The provider does not give this client a scope of PUBRING_OIDC_SCOPES.',
}

/** The parameters by which the provider decides. */
function asked({ config: { clientId, scopes }, redirectUri }: KnownProvider): string {
  return `client_id ${quote(clientId, 120)}, redirect_uri ${redirectUri} and scope ${quote(scopes, 200)}`
}

const maxShown = 300

/** A refusal in the provider's own words, which are safe to show. `by`: which endpoint, and how it was asked. */
function refusedBy(
  provider: KnownProvider,
  error: string,
  description: unknown,
  by?: { subject: string; method: string; code: string },
): SignInFinding {
  const said = typeof description === 'string' && description !== '' ? description : undefined
  const words = said === undefined ? quote(error) : `${quote(error)}, ${quote(said, maxShown)}`
  const shown =
    error === 'access_denied'
      ? `The OpenID provider did not let you in, or you cancelled the sign-in: ${words}.`
      : `The OpenID provider refused the sign-in: ${words}.`
  const detail = [
    `${by?.subject ?? 'The authorization endpoint'} refused with ${words}.`,
    advice[by?.code ?? error] ?? '',
    `Pubring asked with ${asked(provider)}${by === undefined ? '' : `, authenticated by ${by.method}`}.`,
  ]
  return { ...failed(detail.filter((part) => part !== '').join(' ')), shown }
}

interface TokenForm {
  code: string
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
export async function checkCredentials(provider: KnownProvider): Promise<SignInFinding> {
  const form = { code: 'pubring-doctor', code_verifier: trial.codeVerifier }
  const outcome = await requestTokens(provider, form)
  if (!('outcome' in outcome)) return warned('The provider accepts any code.')
  if (outcome.code === 'invalid_grant') return passed('The provider accepts the client.')
  return ['invalid_client', 'unauthorized_client'].includes(outcome.code ?? '') || outcome.error
    ? outcome
    : warned(outcome.detail)
}

/** The response of the token endpoint, or why there is none; `code` is its OAuth error. */
async function requestTokens(
  provider: KnownProvider,
  form: TokenForm,
  authentication = authenticationOf(provider.config, provider.metadata.document),
): Promise<{ body: Record<string, unknown> } | (SignInFinding & { code?: string })> {
  const { context, config, metadata, redirectUri } = provider
  const { tokenEndpoint } = metadata
  if (authentication === undefined) return noAuthentication(metadata)
  const { method, authenticate, otherwise } = authentication
  const grant = { grant_type: 'authorization_code', redirect_uri: redirectUri }
  const body = new URLSearchParams({ ...grant, ...form })
  const headers = new Headers({ accept: 'application/json' })
  await authenticate(body, headers, context.clock.now())
  const response = await context
    .fetch(tokenEndpoint, { method: 'POST', body, headers })
    .catch(outboundError)
  if (response instanceof OutboundError) return { ...failed(response.message), error: response }
  const { status } = response
  const value = parseJson(await response.text())
  if (status === 200 && isObject(value)) return { body: value }
  const subject = `${tokenEndpoint} responded with the status ${status}`
  const { error, error_description: description } = isObject(value) ? value : {}
  if (typeof error !== 'string') {
    const lack = value === undefined ? ', and without JSON' : ''
    const finding = failed(`${subject}${lack}.`)
    return status < 500 ? finding : { ...finding, error: new OutboundError(finding.detail) }
  }
  const { clientSecret } = config
  const said =
    typeof description === 'string' && clientSecret
      ? description.replaceAll(clientSecret, '…')
      : description
  // RFC 6749 section 5.2 has the status for this error alone. Keycloak says unauthorized_client, and some
  // providers send a refused code with it.
  const code = status === 401 && error !== 'invalid_grant' ? 'invalid_client' : error
  if (code === 'invalid_client' && otherwise) return requestTokens(provider, form, otherwise)
  return { ...refusedBy(provider, error, said, { subject, method, code }), code }
}

function noAuthentication({ document }: Metadata): SignInFinding & { code: string } {
  const listed = [document.token_endpoint_auth_methods_supported].flat()
  const hint = listed.includes('private_key_jwt')
    ? ' Register a key there, and set PUBRING_OIDC_PRIVATE_KEY_FILE.'
    : ''
  const detail = `The provider offers neither client_secret_basic nor client_secret_post, but ${listed.join(', ')}.${hint}`
  return { ...failed(detail), code: 'invalid_client' }
}

export function outboundError(error: unknown): OutboundError {
  if (error instanceof OutboundError) return error
  throw error
}
