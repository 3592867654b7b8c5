import { JwtVerifier } from 'aws-jwt-verify'
import buildGetJwks from 'get-jwks'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import jwt, { type JwtHeader, type JwtPayload } from 'jsonwebtoken'
import { JwksClient } from 'jwks-rsa'
import { discovery, implicitAuthentication, None, useIdTokenResponseType } from 'openid-client'

/** Resolves if the library accepts the token, rejects otherwise. */
export type Verify = (token: string) => Promise<unknown>

export const audience = 'orders'
export const nonce = 'a-nonce'

/**
 * Verifiers by other authors, set up as they document: only the issuer or its key set, and the
 * audience, are configured.
 */
export const verifiers = {
  jose: async (issuer) => {
    const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`))
    return (token) => jwtVerify(token, keys, { issuer, audience })
  },
  'jwks-rsa with jsonwebtoken': async (issuer) => {
    const keys = new JwksClient({ jwksUri: `${issuer}/.well-known/jwks.json` })
    return (token) =>
      verifyWith(token, issuer, async ({ kid }) => (await keys.getSigningKey(kid)).getPublicKey())
  },
  'aws-jwt-verify': async (issuer) => {
    const verifier = JwtVerifier.create({
      issuer,
      audience,
      jwksUri: `${issuer}/.well-known/jwks.json`,
    })
    return (token) => verifier.verify(token)
  },
  'get-jwks with jsonwebtoken': async (issuer) => {
    const keys = buildGetJwks()
    return (token) =>
      verifyWith(token, issuer, ({ alg, kid = '' }) =>
        keys.getPublicKey({ alg, kid, domain: issuer }),
      )
  },
  'openid-client': async (issuer) => {
    const execute = [useIdTokenResponseType]
    const config = await discovery(new URL(issuer), audience, undefined, None(), { execute })
    return (token) =>
      implicitAuthentication(config, new URL(`https://app.example/#id_token=${token}`), nonce)
  },
} satisfies Record<string, (issuer: string) => Promise<Verify>>

export type VerifierName = keyof typeof verifiers
export const verifierNames = Object.keys(verifiers) as VerifierName[]

/** jsonwebtoken with a key that another library finds for the header. */
function verifyWith(
  token: string,
  issuer: string,
  find: (header: JwtHeader) => Promise<string>,
): Promise<string | JwtPayload | undefined> {
  return new Promise((resolve, reject) => {
    jwt.verify(
      token,
      (header, use) => {
        find(header).then((key) => use(null, key), use)
      },
      { issuer, audience },
      (error, claims) => (error === null ? resolve(claims) : reject(error)),
    )
  })
}

/** The error of the verifier; empty if it accepts the token. */
export function verifyError(verify: Verify, token: string): Promise<string> {
  return verify(token).then(
    () => '',
    (error: Error) => `${error.message} ${error.cause instanceof Error ? error.cause.message : ''}`,
  )
}
