import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

export const audience = 'orders'

export interface Signer {
  publicKeyPem: string
  privateKey: KeyObject
}

export function newSigner(): Signer {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return { publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(), privateKey }
}

/** A token that a verifier must take, and those that it must refuse, by what is wrong with them. */
export function tokensOf(signer: Signer, kid: string, issuer: string) {
  const time = Math.floor(Date.now() / 1_000)
  const claims = { iss: issuer, aud: audience, sub: 'alice', iat: time, exp: time + 300 }
  const header = { alg: 'RS256', typ: 'JWT', kid }
  const good = signed(signer.privateKey, header, claims)
  const [head, , signature] = good.split('.')
  const confused = `${encode({ ...header, alg: 'HS256' })}.${encode(claims)}`
  const bad: Record<string, string> = {
    'changed claims': `${head}.${encode({ ...claims, sub: 'mallory' })}.${signature}`,
    'another audience': signed(signer.privateKey, header, { ...claims, aud: 'invoices' }),
    'another issuer': signed(signer.privateKey, header, { ...claims, iss: `${issuer}0` }),
    expired: signed(signer.privateKey, header, { ...claims, iat: time - 7_200, exp: time - 3_600 }),
    'another key under the same kid': signed(newSigner().privateKey, header, claims),
    'a kid that is not registered': signed(
      signer.privateKey,
      { ...header, kid: '00000000-0000-7000-8000-000000000000' },
      claims,
    ),
    'HS256 with the public key as the secret': `${confused}.${createHmac('sha256', signer.publicKeyPem).update(confused).digest('base64url')}`,
    'alg none': `${encode({ ...header, alg: 'none' })}.${encode(claims)}.`,
  }
  return { good, bad }
}

function signed(key: KeyObject, header: object, claims: object): string {
  const input = `${encode(header)}.${encode(claims)}`
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
}

function encode(content: object): string {
  return Buffer.from(JSON.stringify(content)).toString('base64url')
}
