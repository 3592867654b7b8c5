import { constants, createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

export const audience = 'orders'

/** Algorithms that verifiers are tried with. */
export const algorithms = ['RS256', 'PS256', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const

/** How long the tokens are valid: longer than any verifier is watched. */
const lifetimeSeconds = 3_600

export interface Signer {
  algorithm: string
  publicKeyPem: string
  privateKey: KeyObject
}

export function newSigner(algorithm = 'RS256'): Signer {
  const { publicKey, privateKey } = newPair(algorithm)
  const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  return { algorithm, publicKeyPem, privateKey }
}

function newPair(algorithm: string) {
  if (algorithm === 'EdDSA') return generateKeyPairSync('ed25519')
  if (algorithm === 'ML-DSA-44') return generateKeyPairSync('ml-dsa-44')
  const curves: Record<string, string> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }
  const namedCurve = curves[algorithm]
  if (namedCurve !== undefined) return generateKeyPairSync('ec', { namedCurve })
  return generateKeyPairSync('rsa', { modulusLength: 2_048 })
}

/** A token that a verifier must take. */
export function goodToken(signer: Signer, kid: string, issuer: string): string {
  return signed(signer, { alg: signer.algorithm, typ: 'JWT', kid }, claimsFor(issuer))
}

function claimsFor(issuer: string) {
  const time = Math.floor(Date.now() / 1_000)
  const exp = time + lifetimeSeconds
  return { iss: issuer, aud: audience, sub: 'alice', iat: time, nbf: time, exp }
}

/** Tokens that a verifier must refuse, by what is wrong with them. The signer is one for RS256. */
export function badTokens(signer: Signer, kid: string, issuer: string): Record<string, string> {
  const claims = claimsFor(issuer)
  const header = { alg: 'RS256', typ: 'JWT', kid }
  const [head, , signature] = signed(signer, header, claims).split('.')
  const confused = `${encode({ ...header, alg: 'HS256' })}.${encode(claims)}`
  const time = claims.iat
  return {
    'changed claims': `${head}.${encode({ ...claims, sub: 'mallory' })}.${signature}`,
    'another audience': signed(signer, header, { ...claims, aud: 'invoices' }),
    'another issuer': signed(signer, header, { ...claims, iss: `${issuer}0` }),
    expired: signed(signer, header, { ...claims, iat: time - 7_200, exp: time - 3_600 }),
    'not valid yet': signed(signer, header, { ...claims, nbf: time + lifetimeSeconds / 2 }),
    'another key under the same kid': signed(newSigner(), header, claims),
    'a kid that is not registered': signed(
      newSigner(),
      { ...header, kid: '00000000-0000-7000-8000-000000000000' },
      claims,
    ),
    'HS256 with the public key as the secret': `${confused}.${createHmac('sha256', signer.publicKeyPem).update(confused).digest('base64url')}`,
    'no exp': signed(signer, header, { ...claims, exp: undefined }),
    'no kid': signed(signer, { ...header, kid: undefined }, claims),
    'a kid of null': signed(signer, { ...header, kid: null }, claims),
    'an empty kid': signed(signer, { ...header, kid: '' }, claims),
    'alg none': `${encode({ ...header, alg: 'none' })}.${encode(claims)}.`,
  }
}

function signed({ algorithm, privateKey }: Signer, header: object, claims: object): string {
  const input = `${encode(header)}.${encode(claims)}`
  const hash = /^EdDSA|^ML-DSA/.test(algorithm) ? null : `sha${algorithm.slice(2)}`
  const options = algorithm.startsWith('PS')
    ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: Number(algorithm.slice(2)) / 8 }
    : { dsaEncoding: 'ieee-p1363' as const }
  const signature = sign(hash, Buffer.from(input), { key: privateKey, ...options })
  return `${input}.${signature.toString('base64url')}`
}

function encode(content: object): string {
  return Buffer.from(JSON.stringify(content)).toString('base64url')
}
