// ISSUER=… AUDIENCE=… PORT=… node service.js: responds with the claims of a valid token, and with 401 to others.
import process from 'node:process'
import jwt from '@fastify/jwt'
import fastify from 'fastify'
import buildGetJwks from 'get-jwks'

const { ISSUER = '', AUDIENCE = '', PORT } = process.env
// Create one per process: it caches each key for a minute, and keeps using it if it is gone then.
const keys = buildGetJwks({ issuersWhitelist: [ISSUER] })

const app = fastify()
app.register(jwt, {
  decode: { complete: true },
  secret: (_request, { header: { kid, alg } }) => keys.getPublicKey({ kid, alg, domain: ISSUER }),
  verify: {
    allowedIss: ISSUER,
    allowedAud: AUDIENCE,
    algorithms: ['RS256', 'PS256', 'ES256', 'ES384', 'ES512'],
    requiredClaims: ['exp'],
  },
})
app.get('/', async (request, reply) => {
  try {
    return await request.jwtVerify()
  } catch (error) {
    return reply.code(401).send({ refused: error.message })
  }
})
await app.listen({ host: '127.0.0.1', port: Number(PORT) })
