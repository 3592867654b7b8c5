import { jwtVerify } from 'jose'
import { createSingleFlight } from '../../../async/single-flight.ts'
import type { Context, OidcConfig } from '../../../kernel/context.ts'
import { tokenDigest } from '../../../kernel/ledger/token-uses.ts'
import { isoTime } from '../../../kernel/values/times.ts'
import { AnswerError, OutboundError } from '../../../outbound/outbound.ts'
import { isObject } from '../../../runtime/json.ts'
import { present } from '../../../runtime/present.ts'
import type { DecodedToken } from '../../../tokens/decode.ts'
import { failed, passed, runSteps, skipped, warned } from '../../../tokens/findings.ts'
import {
  addressIn,
  createIssuerKeys,
  describeKeys,
  type IssuerContext,
  readDiscovery,
} from '../../access-rules/issuer-keys.ts'
import type { IssuerKeySource } from '../../access-rules/stored.ts'
import { checkSignature } from '../../access-rules/subject-tokens.ts'
import { claimsOf, compareClocks, idTokenSteps, readUserInfo } from './identity.ts'
import { type SignInFinding, SignInRefusal, type SignInStep } from './refusal.ts'
import {
  type Answer,
  authorizationUrl,
  checkAuthorization,
  checkCode,
  checkCredentials,
  checkResponse,
  clockTolerance,
  type Metadata,
  type SignInChecks,
  withParameters,
} from './steps.ts'

/** How long the metadata of the provider is used before it is read again. */
const metadataMs = 3_600_000

/** Seconds for which a logout token is accepted. */
const maxLogoutTokenAge = 600

/** Who signed in, as the provider asserts it. */
export interface Identity {
  issuer: string
  subject: string
  claims: Record<string, unknown>
  /** The claims that a signature protects: people may edit some of the others. */
  signed: Record<string, unknown>
  /** Sentences about what the provider left out, for the person and the log. */
  notes: string[]
}

/** Everything that is asked of the OpenID provider; rejects if it cannot be reached, or refuses. */
export function createProvider(context: Context, config: OidcConfig, redirectUri: string) {
  const { clock } = context
  const { issuer, clientId } = config
  const discoveries = createSingleFlight<Metadata>()
  const keys = createIssuerKeys(context)
  let known: (Metadata & { readAt: number }) | undefined
  let secrets = config

  /** The metadata that was read last also serves while the provider cannot be reached. */
  async function discover(): Promise<Metadata> {
    const now = clock.monotonic()
    if (known !== undefined && now - known.readAt < metadataMs) return known
    try {
      known = { ...(await discoveries.run('', () => readMetadata(context, issuer))), readAt: now }
      return known
    } catch (error) {
      if (known !== undefined) return known
      if (!(error instanceof OutboundError)) throw error
      throw new SignInRefusal('discovery', { ...failed(error.message), error })
    }
  }

  return {
    async authorizationUrl(checks: SignInChecks): Promise<string> {
      return authorizationUrl({ context, config, metadata: await discover(), redirectUri }, checks)
    },

    /**
     * Exchanges the code in the parameters that the provider sent the browser with, and examines what it
     * answers step by step (OpenID Connect Core 1.0 sections 3.1.3.7 and 5.3.4). Throws a `SignInRefusal`.
     */
    async redeem(
      parameters: URLSearchParams,
      { nonce, codeVerifier, maxAge }: SignInChecks,
    ): Promise<Identity> {
      const metadata = await discover()
      const answer: Answer = { accessToken: '', claims: {}, more: {}, signedMore: {} }
      const provider = { context, config: secrets, metadata, redirectUri }
      const verify = (token: DecodedToken) =>
        checkSignature(token, keySourceOf(issuer, metadata), keys, { isDirect: true })
      const { failed: step, steps } = await runSteps<SignInStep, SignInFinding>([
        ['discovery', () => passed(`The provider is ${issuer}.`)],
        ['response', () => checkResponse(parameters, provider)],
        [
          'token',
          () => {
            const code = parameters.get('code') ?? ''
            return checkCode(provider, { code, code_verifier: codeVerifier }, answer)
          },
        ],
        ...idTokenSteps(answer, { config, nonce, maxAge, nowMs: clock.now(), verify }),
        ['user_info', () => readUserInfo(provider, answer, verify)],
      ])
      const last = steps.at(-1)
      if (step !== undefined && last !== undefined) throw new SignInRefusal(step, last)
      const { claims } = answer
      return {
        issuer,
        subject: String(claims.sub),
        signed: claims,
        claims: claimsOf(answer),
        notes: steps.filter(({ outcome }) => outcome === 'warned').map(({ detail }) => detail),
      }
    },

    /** Returns which sessions it ends: of a subject, of a session at the provider, or of both. */
    async verifyLogoutToken(token: string) {
      const keySource = keySourceOf(issuer, await discover())
      const { payload, protectedHeader } = await jwtVerify(
        token,
        async ({ kid = '', alg = '' }) => {
          const found = await keys.find(keySource, kid, alg)
          if ('key' in found) return found.key.publicKey
          throw found.isUnreachable ? new OutboundError(found.fault) : new Error(found.fault)
        },
        {
          issuer,
          audience: clientId,
          currentDate: new Date(clock.now()),
          clockTolerance,
          maxTokenAge: maxLogoutTokenAge,
          requiredClaims: ['iat', 'jti'],
        },
      )
      requireLogout(payload, protectedHeader.typ)
      const { sub: subject, sid, iat = 0, jti = '' } = payload
      return {
        issuer,
        ...present({ subject, providerSessionId: typeof sid === 'string' ? sid : undefined }),
        issueTime: isoTime(iat * 1_000),
        once: tokenDigest(issuer, jti),
      }
    },

    /** Where the person signs out at the provider; undefined if it has no such address. */
    async endSessionUrl(parameters: Record<string, string>): Promise<string | undefined> {
      const { document } = await discover()
      const address = document.end_session_endpoint
      if (typeof address !== 'string' || !URL.canParse(address)) return undefined
      return withParameters(address, { client_id: clientId, ...parameters })
    },

    /** Authenticates with the client secret or private key of this configuration from now on. */
    replaceSecrets(next: OidcConfig): void {
      secrets = next
    },
  }
}

type ProviderStep = 'discovery' | 'clock' | 'keys' | 'scopes' | 'authorization' | 'client'

/**
 * Tries what a sign-in needs, but for a person: the discovery document, the keys, the scopes, the way to
 * the page of the provider and, with a code that cannot exist, the credentials of the client.
 */
export async function examineProvider(
  context: IssuerContext & Pick<Context, 'clock'>,
  config: OidcConfig,
  redirectUri: string,
) {
  const { issuer, scopes } = config
  const metadata = await readMetadata(context, issuer)
  const provider = { context, config, metadata, redirectUri }
  return runSteps<ProviderStep, SignInFinding>([
    ['discovery', () => passed(`It is ${issuer}.`)],
    ['clock', () => compareClocks(metadata.headers, context.clock.now())],
    ['keys', () => describeKeys(context, keySourceOf(issuer, metadata))],
    ['scopes', () => checkScopes(metadata.document.scopes_supported, scopes)],
    ['authorization', () => checkAuthorization(provider)],
    ['client', () => checkCredentials(provider)],
  ])
}

const keySourceOf = (issuer: string, { jwksUri }: Metadata): IssuerKeySource => ({
  issuer,
  keySource: 'jwksUri',
  jwksUri,
})

async function readMetadata({ fetch }: IssuerContext, issuer: string): Promise<Metadata> {
  const { url, document, headers } = await readDiscovery(fetch, issuer).catch((error) => {
    throw error instanceof AnswerError
      ? new AnswerError(`${error.message} Correct PUBRING_OIDC_ISSUER.`)
      : error
  })
  return {
    headers,
    authorizationEndpoint: addressIn(document, 'authorization_endpoint', url),
    tokenEndpoint: addressIn(document, 'token_endpoint', url),
    document,
    jwksUri: addressIn(document, 'jwks_uri', url),
  }
}

function checkScopes(supported: unknown, requested: string) {
  if (!Array.isArray(supported)) return skipped('The provider does not list its scopes.')
  const unknown = requested.split(' ').filter((scope) => !supported.includes(scope))
  if (unknown.length === 0) return passed('The provider knows all scopes of PUBRING_OIDC_SCOPES.')
  return warned(
    `The provider does not list ${unknown.join(', ')} of PUBRING_OIDC_SCOPES; it lists ${supported.join(', ')}.`,
  )
}

/** OpenID Connect Back-Channel Logout 1.0 section 2.6: an ID token is no logout token. */
function requireLogout(payload: Record<string, unknown>, typ: string | undefined): void {
  const { events, nonce, sub, sid } = payload
  const event = isObject(events)
    ? events['http://schemas.openid.net/event/backchannel-logout']
    : undefined
  const isTyped = typ === undefined || /^(logout\+jwt|jwt)$/i.test(typ)
  const names = [sub, sid].some((one) => typeof one === 'string')
  if (!isTyped || !isObject(event) || nonce !== undefined || !names) {
    throw new Error('It is not a logout token.')
  }
}
