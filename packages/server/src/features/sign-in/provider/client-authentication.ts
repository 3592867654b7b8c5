import { createPrivateKey, type KeyObject, randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import type { OidcConfig } from '../../../kernel/context.ts'
import { present } from '../../../runtime/present.ts'

type Document = Readonly<Record<string, unknown>>

/** A way to authenticate this client at the token endpoint. */
interface Authentication {
  /** Its name (OpenID Connect Core 1.0 section 9). */
  method: string
  /** Adds the credentials to a request. `nowMs`: the time of the clock that all replicas share. */
  authenticate(body: URLSearchParams, headers: Headers, nowMs: number): void | Promise<void>
  /** The way to try if the provider does not know the client by this one. */
  otherwise?: Authentication
}

/** The way to authenticate; undefined if the provider offers none for the client secret. */
export function authenticationOf(
  config: OidcConfig,
  document: Document,
): Authentication | undefined {
  const { clientId, clientSecret, privateKey } = config
  if (privateKey !== undefined) return privateKeyJwt(config, privateKey, document)
  if (clientSecret === undefined) {
    return { method: 'none', authenticate: (body) => body.set('client_id', clientId) }
  }
  const { token_endpoint_auth_methods_supported: listed } = document
  const methods: unknown[] = Array.isArray(listed) ? listed : ['client_secret_basic']
  const basic = (encode: (text: string) => string): Authentication => ({
    method: 'client_secret_basic',
    authenticate(_body, headers) {
      const credentials = `${encode(clientId)}:${encode(clientSecret)}`
      headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`)
    },
  })
  // RFC 6749 section 2.3.1 has Basic form-encode them, which not every provider decodes.
  const isPlain = /^[A-Za-z0-9_.-]*$/.test(clientId + clientSecret)
  const ways: Authentication[] = [
    { ...basic(formEncode), ...present({ otherwise: isPlain ? undefined : basic(String) }) },
    {
      method: 'client_secret_post',
      authenticate(body) {
        body.set('client_id', clientId)
        body.set('client_secret', clientSecret)
      },
    },
  ]
  return (isPlain ? ways : ways.toReversed()).find(({ method }) => methods.includes(method))
}

function formEncode(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

/** RFC 7523 section 2.2. */
function privateKeyJwt(
  { clientId, privateKeyId }: OidcConfig,
  pem: string,
  { issuer, token_endpoint_auth_signing_alg_values_supported: algorithms }: Document,
): Authentication {
  const authenticate: Authentication['authenticate'] = async (body, _headers, nowMs) => {
    const key = createPrivateKey(pem)
    const alg = algorithmOf(key, Array.isArray(algorithms) ? algorithms : [])
    const assertion = await new SignJWT({ jti: randomUUID() })
      .setProtectedHeader({ alg, ...present({ kid: privateKeyId }) })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(String(issuer))
      .setIssuedAt(new Date(nowMs))
      .setExpirationTime(new Date(nowMs + 60_000))
      .sign(key)
    body.set('client_id', clientId)
    body.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
    body.set('client_assertion', assertion)
  }
  return { method: 'private_key_jwt', authenticate }
}

const byCurve: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
}

function algorithmOf(key: KeyObject, offered: readonly unknown[]): string {
  const { asymmetricKeyType: type, asymmetricKeyDetails: { namedCurve = '' } = {} } = key
  if (type === 'rsa') return 'RS256'
  if (type === 'ec') return byCurve[namedCurve] ?? 'ES256'
  // RFC 9864 gives it the second name.
  return offered.includes('EdDSA') ? 'EdDSA' : 'Ed25519'
}
