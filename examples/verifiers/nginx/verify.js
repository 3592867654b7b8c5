// For nginx with njs: responds with 204 to a valid token of the issuer, and with 401 to others.

const rsa = (name, hash) => ({ name, hash: `SHA-${hash}`, saltLength: hash / 8 })
const ecdsa = (hash, namedCurve) => ({ name: 'ECDSA', hash: `SHA-${hash}`, namedCurve })
const algorithms = {
  RS256: rsa('RSASSA-PKCS1-v1_5', 256),
  PS256: rsa('RSA-PSS', 256),
  ES256: ecdsa(256, 'P-256'),
  ES384: ecdsa(384, 'P-384'),
  ES512: ecdsa(512, 'P-521'),
}

/** The bytes of a part of the token. */
const decode = (part) => Buffer.from(part, 'base64url')

/** The claims and the kid of a valid token. Throws or rejects otherwise. */
function verifySignature(token, keys) {
  const parts = token.split('.')
  const header = JSON.parse(decode(parts[0]).toString())
  const claims = JSON.parse(decode(parts[1]).toString())
  const issuer = process.env.ISSUER
  const key = keys.find((one) => one.issuer === issuer && one.kid === header.kid)
  const isMeant = claims.iss === issuer && [].concat(claims.aud).includes(process.env.AUDIENCE)
  const now = Date.now() / 1000
  const isInTime = claims.exp > now && !(claims.nbf > now)
  if (key.alg !== header.alg || !isMeant || !isInTime) throw new Error()
  const algorithm = algorithms[key.alg]
  return crypto.subtle
    .importKey('spki', Buffer.from(key.spki, 'base64'), algorithm, false, ['verify'])
    .then((publicKey) => {
      const signed = Buffer.from(`${parts[0]}.${parts[1]}`)
      return crypto.subtle.verify(algorithm, publicKey, decode(parts[2]), signed)
    })
    .then((isValid) => {
      if (!isValid) throw new Error()
      return { kid: header.kid, exp: claims.exp }
    })
}

/** With the promise of a list of {issuer, kid, alg, spki}. */
// Without async functions: njs 0.7.9 crashes when one of them throws.
function verify(request, keys) {
  const token = (request.headersIn.Authorization || '').replace(/^Bearer /, '')
  keys
    .then((list) => verifySignature(token, list))
    .then((used) => {
      // For logs of which keys are in use: docs/key-uses.md.
      request.headersOut['X-Kid'] = used.kid
      request.headersOut['X-Exp'] = String(used.exp)
      request.return(204)
    })
    .catch(() => request.return(401))
}

export default { verify }
