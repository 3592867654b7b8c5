// ISSUER=… AUDIENCE=… PORT=… node service.ts: responds with the claims of a valid token, and with 401 to others.
import { createServer } from 'node:http'
import process from 'node:process'
import { projectKeySet } from '@pubring/client/verify'
import { jwtVerify } from 'jose'

const { ISSUER = '', AUDIENCE = '', PORT } = process.env
// Create one per process: it is notified immediately when a key is activated or deactivated.
const keys = projectKeySet(ISSUER)

createServer(async (request, response) => {
  const token = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
  try {
    const { payload } = await jwtVerify(token, keys, {
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
