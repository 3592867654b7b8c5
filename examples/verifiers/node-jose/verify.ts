// ISSUER=… AUDIENCE=… node verify.ts TOKEN: prints the claims, or the reason with exit code 1.
import process from 'node:process'
import { createRemoteJWKSet, jwtVerify } from 'jose'

const { ISSUER = '', AUDIENCE = '', JWKS_URL = `${ISSUER}/.well-known/jwks.json` } = process.env
// Create one per process: it caches the key set for 10 minutes.
const keys = createRemoteJWKSet(new URL(JWKS_URL))

try {
  const { payload } = await jwtVerify(process.argv[2] ?? '', keys, {
    issuer: ISSUER,
    audience: AUDIENCE,
    algorithms: ['RS256'],
    requiredClaims: ['exp'],
  })
  process.stdout.write(`${JSON.stringify(payload)}\n`)
} catch (error) {
  process.stdout.write(`refused: ${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
