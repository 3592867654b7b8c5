// ISSUER=… AUDIENCE=… PORT=… node service.ts: responds with the claims of a valid token, and with 401 to others.
import { createServer } from 'node:http'
import process from 'node:process'
import { createRemoteJWKSet, type JWTVerifyGetKey, jwtVerify } from 'jose'

const { ISSUER = '', AUDIENCE = '', PORT, CACHE_SECONDS } = process.env
const { JWKS_URL = `${ISSUER}/.well-known/jwks.json` } = process.env
// Create one per process: it caches the key set for 10 minutes. With a follower, for a second:
const cacheMaxAge = CACHE_SECONDS === undefined ? undefined : 1_000 * Number(CACHE_SECONDS)
const options = cacheMaxAge === undefined ? {} : { cacheMaxAge, cooldownDuration: cacheMaxAge }
const keys = createRemoteJWKSet(new URL(JWKS_URL), options)
// Without a kid, the library takes the only key that fits.
const keyOf: JWTVerifyGetKey = (header, token) => {
  if (typeof header.kid !== 'string') throw new Error('the token names no kid')
  return keys(header, token)
}

createServer(async (request, response) => {
  const token = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
  try {
    const { payload } = await jwtVerify(token, keyOf, {
      issuer: ISSUER,
      audience: AUDIENCE,
      algorithms: ['RS256', 'PS256', 'ES256', 'ES384', 'ES512', 'EdDSA'],
      requiredClaims: ['exp'],
    })
    response.end(`${JSON.stringify(payload)}\n`)
  } catch (error) {
    response.writeHead(401).end(`refused: ${error instanceof Error ? error.message : error}\n`)
  }
}).listen(Number(PORT), '127.0.0.1')
