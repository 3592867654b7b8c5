import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { SignJWT } from 'jose'
import { Provider, type ProviderContext } from 'oidc-provider'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { type HttpsServer, startHttpsServer } from '../network/https-server.ts'
import { rememberSecret } from '../secrets.ts'

export const clientId = 'pubring'
export const clientSecret = rememberSecret('the client secret', 'dR7wq0VxK3bTn5LmZ8sYc2HfJ6gPa9Ue')

/** A real OpenID provider, over https on this machine. */
export interface TestProvider {
  issuer: string
  server: HttpsServer
  /** Who signs in next, and the claims about them; `sinceMs`: when they did so there. */
  person: { subject: string; claims: Record<string, unknown>; sinceMs?: number }
  /** Changes a response of the provider before it is sent. */
  intercept:
    | ((path: string, request: IncomingMessage, response: ServerResponse) => boolean)
    | undefined
  /** Signs claims with the key of the provider. */
  sign(claims: Record<string, unknown>, typ?: string, key?: KeyObject): Promise<string>
  close(): Promise<void>
}

/**
 * `fetch`: sends the requests of the provider, such as those of back-channel logout. `host`: its name,
 * under which other processes can reach it if it is `localhost`.
 */
export async function startProvider(
  redirectUri: string,
  client: Record<string, unknown> = {},
  fetch?: (url: string, init: { body: unknown }) => Promise<Response>,
  host = 'id.test',
): Promise<TestProvider> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = { ...privateKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256', use: 'sig' }
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => {}
  const server = await startHttpsServer([host], (request, response) => {
    const path = new URL(request.url ?? '', `https://${host}`).pathname
    if (test.intercept?.(path, request, response)) return
    if (path.startsWith('/interaction/')) {
      const { subject, sinceMs = Date.now() } = test.person
      const result = { login: { accountId: subject, ts: Math.floor(sinceMs / 1_000) } }
      void provider.interactionFinished(request, response, result)
    } else handle(request, response)
  })
  const issuer = server.urlOf(host)
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        id_token_signed_response_alg: 'ES256',
        post_logout_redirect_uris: [redirectUri.replace('/sign-in/callback', '/console/')],
        ...client,
      },
    ],
    jwks: { keys: [jwk] },
    ...(fetch === undefined ? {} : { fetch }),
    cookies: { keys: ['k'] },
    // An email counts only if it is in the ID token.
    conformIdTokenClaims: false,
    claims: {
      openid: ['sub'],
      profile: ['name'],
      email: ['email', 'email_verified'],
      groups: ['groups'],
    },
    scopes: ['openid', 'profile', 'email', 'groups'],
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    interactions: { url: (_context: object, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_context: object, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, ...test.person.claims }),
    }),
    loadExistingGrant: async ({ oidc }: ProviderContext) => {
      const { clientId: id } = oidc.client
      const grant = new oidc.provider.Grant({ clientId: id, accountId: oidc.session.accountId })
      grant.addOIDCScope('openid profile email groups')
      await grant.save()
      return grant
    },
    ttl: { Interaction: 600, Session: 3_600, Grant: 3_600, AccessToken: 600, IdToken: 3_600 },
  })
  handle = provider.callback()
  const test: TestProvider = {
    issuer,
    server,
    person: { subject: 'ada', claims: {} },
    intercept: undefined,
    sign(claims, typ = 'logout+jwt', key = privateKey) {
      const iat = Math.floor(Date.now() / 1_000)
      const standard = { iss: issuer, aud: clientId, jti: newId(), iat, exp: iat + 120 }
      return new SignJWT({ ...standard, ...claims })
        .setProtectedHeader({ alg: 'ES256', kid: 'k', typ })
        .sign(key)
    },
    close: () => server.close(),
  }
  return test
}
