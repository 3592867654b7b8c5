import { createPrivateKey } from 'node:crypto'
import { createRemoteJWKSet, customFetch as josesFetch, jwtVerify } from 'jose'
import * as oidc from 'openid-client'
import { createSingleFlight } from '../../async/single-flight.ts'
import type { Clock, OidcConfig } from '../../kernel/context.ts'
import { tokenDigest } from '../../kernel/storage/used-tokens.ts'
import { isoTime } from '../../kernel/values/times.ts'
import type { OutboundFetch } from '../../outbound/outbound.ts'
import { isObject } from '../../runtime/json.ts'
import { present } from '../../runtime/present.ts'

/** How long the metadata of the provider is used before it is read again. */
const metadataMs = 3_600_000

/** Seconds by which the provider's clock may be ahead or behind. */
const clockTolerance = 60

/** Seconds for which a logout token is accepted. */
const maxLogoutTokenAge = 600

/** The values that tie a sign-in at the provider to the browser that began it. */
export interface SignInChecks {
  state: string
  nonce: string
  codeVerifier: string
  /** Seconds since the person proved who they are; absent if that does not matter. */
  maxAge?: number
}

/** Who signed in, as the provider asserts it. */
export interface Identity {
  issuer: string
  subject: string
  claims: Record<string, unknown>
  /** The claims of the ID token: no signature protects the others, and people may edit some. */
  signed: Record<string, unknown>
}

/** The keys of logout tokens are cached with the rest, because anyone can have a token checked. */
interface Metadata {
  configuration: oidc.Configuration
  logoutKeys: ReturnType<typeof createRemoteJWKSet>
}

/** Everything that is asked of the OpenID provider; rejects if it cannot be reached, or refuses. */
export function createProvider(config: OidcConfig, fetch: OutboundFetch, clock: Clock) {
  const discoveries = createSingleFlight<Metadata>()
  let known: (Metadata & { readAt: number }) | undefined
  let secrets = config
  const authenticate: oidc.ClientAuth = (...request) => clientAuthentication(secrets)(...request)

  /** The metadata that was read last also serves while the provider cannot be reached. */
  async function discover(): Promise<Metadata> {
    const now = clock.monotonic()
    if (known !== undefined && now - known.readAt < metadataMs) return known
    try {
      const read = await discoveries.run('', () => readMetadata(config, fetch, authenticate))
      known = { ...read, readAt: now }
      return known
    } catch (error) {
      if (known === undefined) throw error
      return known
    }
  }

  return {
    async authorizationUrl(
      redirectUri: string,
      { state, nonce, codeVerifier, maxAge }: SignInChecks,
    ): Promise<string> {
      const { configuration } = await discover()
      const url = oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: config.scopes,
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        // `prompt` can be removed on the way through the browser, so the age is checked as well.
        ...(maxAge === undefined ? {} : { prompt: 'login', max_age: String(maxAge) }),
      })
      return url.href
    },

    /** Exchanges the code in the URL that the provider sent the browser to. */
    async redeem(
      url: URL,
      { state, nonce, codeVerifier, maxAge }: SignInChecks,
    ): Promise<Identity> {
      const { configuration } = await discover()
      const tokens = await oidc.authorizationCodeGrant(configuration, url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: codeVerifier,
        ...present({ maxAge }),
      })
      const claims = tokens.claims()
      if (claims === undefined) throw new Error('The provider sent no ID token.')
      const { userinfo_endpoint: userInfo } = configuration.serverMetadata()
      const more =
        userInfo === undefined
          ? {}
          : await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub)
      const identity = { issuer: claims.iss, subject: claims.sub, signed: claims }
      return { ...identity, claims: { ...more, ...claims } }
    },

    /** Returns which sessions it ends: of a subject, of a session at the provider, or of both. */
    async verifyLogoutToken(token: string) {
      const { configuration, logoutKeys } = await discover()
      const { issuer } = configuration.serverMetadata()
      const { payload, protectedHeader } = await jwtVerify(token, logoutKeys, {
        issuer,
        audience: config.clientId,
        clockTolerance,
        maxTokenAge: maxLogoutTokenAge,
        requiredClaims: ['iat', 'jti'],
      })
      requireLogout(payload, protectedHeader.typ)
      const { sub: subject, sid, iat = 0, jti = '' } = payload
      return {
        issuer,
        ...present({ subject, providerSessionId: typeof sid === 'string' ? sid : undefined }),
        issueTime: isoTime(iat * 1_000),
        once: {
          digest: tokenDigest(issuer, jti),
          until: isoTime((iat + maxLogoutTokenAge + clockTolerance) * 1_000),
        },
      }
    },

    /** Where the person signs out at the provider; undefined if it has no such address. */
    async endSessionUrl(parameters: Record<string, string>): Promise<string | undefined> {
      const { configuration } = await discover()
      if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined
      return oidc.buildEndSessionUrl(configuration, parameters).href
    },

    /** Authenticates with the client secret or private key of this configuration from now on. */
    replaceSecrets(next: OidcConfig): void {
      secrets = next
    },
  }
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

async function readMetadata(
  { issuer, clientId }: OidcConfig,
  fetch: OutboundFetch,
  authenticate: oidc.ClientAuth,
): Promise<Metadata> {
  const configuration = await oidc.discovery(
    new URL(issuer),
    clientId,
    { [oidc.clockTolerance]: clockTolerance },
    authenticate,
    {
      // Verifies the signature of ID tokens too, though they come straight from the provider.
      execute: [oidc.enableNonRepudiationChecks],
      [oidc.customFetch]: (url, init) => fetch(url, init as RequestInit),
    },
  )
  const { jwks_uri: jwksUri = '' } = configuration.serverMetadata()
  const logoutKeys = createRemoteJWKSet(new URL(jwksUri), { [josesFetch]: fetch })
  return { configuration, logoutKeys }
}

function clientAuthentication({ clientSecret, privateKey, privateKeyId }: OidcConfig) {
  if (privateKey !== undefined) {
    const kid = present({ kid: privateKeyId })
    return oidc.PrivateKeyJwt({ key: importPrivateKey(privateKey), ...kid })
  }
  if (clientSecret === undefined) return oidc.None()
  const [basic, post] = [oidc.ClientSecretBasic(clientSecret), oidc.ClientSecretPost(clientSecret)]
  const authenticate: oidc.ClientAuth = (server, ...rest) => {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest)
  }
  return authenticate
}

const curves: Record<string, string> = {
  prime256v1: 'P-256',
  secp384r1: 'P-384',
  secp521r1: 'P-521',
}

function importPrivateKey(pem: string) {
  const key = createPrivateKey(pem)
  const { asymmetricKeyType: type, asymmetricKeyDetails: { namedCurve = '' } = {} } = key
  const algorithm =
    type === 'ec'
      ? { name: 'ECDSA', namedCurve: curves[namedCurve] ?? namedCurve }
      : type === 'rsa'
        ? { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
        : { name: 'Ed25519' }
  return key.toCryptoKey(algorithm, false, ['sign'])
}
