// ISSUER=… AUDIENCE=… PORT=… node service.ts: responds with the claims of a valid token, and with 401 to others.
import { createServer } from 'node:http'
import process from 'node:process'
import jwt from 'jsonwebtoken'
import { JwksClient } from 'jwks-rsa'

const { ISSUER = '', AUDIENCE = '', PORT, CACHE_SECONDS } = process.env
const { JWKS_URL = `${ISSUER}/.well-known/jwks.json` } = process.env
// Create one per process: it caches each key for 10 minutes. With a follower, for a second:
const options = CACHE_SECONDS === undefined ? {} : { cacheMaxAge: 1_000 * Number(CACHE_SECONDS) }
const keys = new JwksClient({ jwksUri: JWKS_URL, ...options })

createServer(async (request, response) => {
  const token = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
  try {
    const kid = jwt.decode(token, { complete: true })?.header.kid
    // Without a kid, the library takes the only key of a set.
    if (typeof kid !== 'string') throw new Error('the token names no kid')
    const key = await keys.getSigningKey(kid)
    const claims = jwt.verify(token, key.getPublicKey(), {
      issuer: ISSUER,
      audience: AUDIENCE,
      algorithms: ['RS256', 'PS256', 'ES256', 'ES384', 'ES512'],
    })
    // The library compares exp only if it is there.
    if (typeof claims === 'string' || claims.exp === undefined) throw new Error('there is no exp')
    response.end(`${JSON.stringify(claims)}\n`)
  } catch (error) {
    response.writeHead(401).end(`refused: ${error instanceof Error ? error.message : error}\n`)
  }
}).listen(Number(PORT), '127.0.0.1')
