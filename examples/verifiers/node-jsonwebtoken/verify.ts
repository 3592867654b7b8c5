// ISSUER=… AUDIENCE=… node verify.ts TOKEN: prints the claims, or the reason with exit code 1.
import process from 'node:process'
import jwt from 'jsonwebtoken'
import { JwksClient } from 'jwks-rsa'

const { ISSUER = '', AUDIENCE = '', JWKS_URL = `${ISSUER}/.well-known/jwks.json` } = process.env
// Create one per process: it caches each key for 10 minutes.
const keys = new JwksClient({ jwksUri: JWKS_URL })

try {
  const token = process.argv[2] ?? ''
  const key = await keys.getSigningKey(jwt.decode(token, { complete: true })?.header.kid)
  const claims = jwt.verify(token, key.getPublicKey(), {
    issuer: ISSUER,
    audience: AUDIENCE,
    algorithms: ['RS256'],
  })
  process.stdout.write(`${JSON.stringify(claims)}\n`)
} catch (error) {
  process.stdout.write(`refused: ${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
