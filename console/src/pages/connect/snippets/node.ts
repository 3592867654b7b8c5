import { quotedList, type Snippet } from './types.ts'

/** Verifiers for Node. */
export const node: Snippet[] = [
  {
    id: 'node-live',
    title: 'Node, live',
    file: 'verify.ts · npm install jose @pubring/client',
    text: ({ issuer, algorithms }) => `import { projectKeySet } from '@pubring/client/verify'
import { jwtVerify } from 'jose'

const issuer = '${issuer}'
// Create one per process.
const keys = projectKeySet(issuer)

export async function verify(token: string) {
  const { payload } = await jwtVerify(token, keys, {
    issuer,
    audience: 'AUDIENCE',
    algorithms: [${quotedList(algorithms)}],
    requiredClaims: ['exp'],
  })
  return payload
}
`,
    trust: 'under a second',
    note: 'It is notified of every change. Without contact it trusts its keys for 30 seconds (maxStale), then none.',
  },
  {
    id: 'node-jose',
    title: 'Node, jose',
    file: 'verify.ts · npm install jose',
    text: ({ issuer, jwksUri, algorithms }) => `import { createRemoteJWKSet, jwtVerify } from 'jose'

// Create one per process: it is the cache.
const keys = createRemoteJWKSet(new URL('${jwksUri}'), {
  cacheMaxAge: 60_000,
})

export async function verify(token: string) {
  const { payload } = await jwtVerify(token, keys, {
    issuer: '${issuer}',
    audience: 'AUDIENCE',
    algorithms: [${quotedList(algorithms)}],
    requiredClaims: ['exp'],
  })
  return payload
}
`,
    trust: '1 minute',
    note: 'This is cacheMaxAge; the default is 10 minutes.',
  },
  {
    id: 'node-aws',
    title: 'Node, aws-jwt-verify',
    file: 'verify.ts · npm install aws-jwt-verify',
    text: ({ issuer, jwksUri }) => `import { JwtVerifier } from 'aws-jwt-verify'

const verifier = JwtVerifier.create({
  issuer: '${issuer}',
  audience: 'AUDIENCE',
  jwksUri: '${jwksUri}',
})

// Without this it keeps a deactivated key until a token has an unknown kid.
setInterval(() => verifier.hydrate().catch(() => {}), 60_000).unref()

export function verify(token: string) {
  return verifier.verify(token)
}
`,
    trust: '1 minute',
    note: 'It never drops a key on its own: the timer refreshes the JWKS. It uses the alg of each published key, and only https URLs.',
  },
]
