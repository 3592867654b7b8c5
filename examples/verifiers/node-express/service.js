// ISSUER=… AUDIENCE=… PORT=… node service.js: responds with the claims of a valid token, and with 401 to others.
import process from 'node:process'
import express from 'express'
import { auth } from 'express-oauth2-jwt-bearer'

const { ISSUER = '', AUDIENCE = '', PORT, JWKS_URL, CACHE_SECONDS } = process.env
// It reads discovery once and then rejects algorithms that were not in it. It caches the key set for
// 10 minutes. With a follower, for a second:
const cacheMaxAge = 1_000 * Number(CACHE_SECONDS)
const followed = { issuer: ISSUER, jwksUri: JWKS_URL, cacheMaxAge, cooldownDuration: cacheMaxAge }
const options = CACHE_SECONDS === undefined ? { issuerBaseURL: ISSUER } : followed
// Without a kid, the library takes the only key that fits.
const validators = { kid: (_claim, _claims, { kid }) => typeof kid === 'string' }

const app = express()
app.use(auth({ ...options, audience: AUDIENCE, validators }))
app.get('/', (request, response) => response.json(request.auth.payload))
app.use((error, _request, response, _next) => {
  response.status(error.status ?? 500).json({ refused: error.message })
})
app.listen(Number(PORT), '127.0.0.1')
