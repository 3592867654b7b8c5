import { literal, literals, type Snippet } from './types.ts'

/** Verifiers for Node. */
export const node: Snippet[] = [
  {
    id: 'node-jose',
    title: 'Node, jose',
    file: 'verify.js · npm install jose',
    text: ({
      issuer,
      jwksUri,
      algorithms,
      audience,
    }) => `import { createRemoteJWKSet, jwtVerify } from 'jose'

// Create one per process: it is the cache.
const keys = createRemoteJWKSet(new URL(${literal(jwksUri)}), {
  cacheMaxAge: 60_000,
})

export async function verify(token) {
  const { payload } = await jwtVerify(token, keys, {
    issuer: ${literal(issuer)},
    audience: ${literal(audience)},
    algorithms: [${literals(algorithms)}],
    requiredClaims: ['exp'],
  })
  return payload
}
`,
    trust: '1 minute',
    note: 'This is cacheMaxAge; the default is 10 minutes.',
  },
  {
    id: 'node-jsonwebtoken',
    title: 'Node, jsonwebtoken',
    file: 'verify.js · npm install jsonwebtoken jwks-rsa',
    text: ({ issuer, jwksUri, algorithms, audience }) => `import jwt from 'jsonwebtoken'
import { JwksClient } from 'jwks-rsa'

// Create one per process: it is the cache.
const keys = new JwksClient({
  jwksUri: ${literal(jwksUri)},
  cacheMaxAge: 60_000,
})

export async function verify(token) {
  const kid = jwt.decode(token, { complete: true })?.header.kid
  const key = await keys.getSigningKey(kid)
  const claims = jwt.verify(token, key.getPublicKey(), {
    issuer: ${literal(issuer)},
    audience: ${literal(audience)},
    algorithms: [${literals(algorithms)}],
  })
  if (claims.exp === undefined) throw new Error('The token has no exp.')
  return claims
}
`,
    trust: '1 minute',
    note: 'This is cacheMaxAge; the default is 10 minutes. It supports RSA and EC keys, but neither Ed25519 nor ML-DSA.',
  },
  {
    id: 'node-aws',
    title: 'Node, aws-jwt-verify',
    file: 'verify.js · npm install aws-jwt-verify',
    text: ({ issuer, jwksUri, audience }) => `import { JwtVerifier } from 'aws-jwt-verify'

const verifier = JwtVerifier.create({
  issuer: ${literal(issuer)},
  audience: ${literal(audience)},
  jwksUri: ${literal(jwksUri)},
})

// Without this it keeps a deactivated key until a token has an unknown kid.
setInterval(() => verifier.hydrate().catch(() => {}), 60_000).unref()

export async function verify(token) {
  const claims = await verifier.verify(token)
  if (claims.exp === undefined) throw new Error('The token has no exp.')
  return claims
}
`,
    trust: '1 minute',
    note: 'It never drops a key on its own: the timer refreshes the JWKS. It uses the alg of each published key, and only https URLs.',
  },
]
