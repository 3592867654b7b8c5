import { hash } from 'node:crypto'
import type { PublicJwk } from '@pubring/intake'

const curves = { 'P-256': 'nistp256', 'P-384': 'nistp384', 'P-521': 'nistp521' }

/** The fingerprint of the key as `ssh-keygen -l` prints it; undefined if OpenSSH has no such key. */
export function sshFingerprint(jwk: PublicJwk): string | undefined {
  const strings = sshStrings(jwk)?.flatMap((each) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(each.length)
    return [length, each]
  })
  const digest = strings && hash('sha256', Buffer.concat(strings), 'base64')
  return digest && `SHA256:${digest.replace(/=$/, '')}`
}

/** The parts of an OpenSSH public key (RFC 4253 section 6.6, RFC 5656 section 3.1, RFC 8709 section 4). */
function sshStrings(jwk: PublicJwk): Buffer[] | undefined {
  const bytes = (base64url: string) => Buffer.from(base64url, 'base64url')
  if (jwk.kty === 'RSA') return [Buffer.from('ssh-rsa'), mpint(bytes(jwk.e)), mpint(bytes(jwk.n))]
  if (jwk.kty === 'OKP') return [Buffer.from('ssh-ed25519'), bytes(jwk.x)]
  if (jwk.kty === 'AKP') return undefined
  const curve = curves[jwk.crv]
  const point = Buffer.concat([Buffer.of(4), bytes(jwk.x), bytes(jwk.y)])
  return [Buffer.from(`ecdsa-sha2-${curve}`), Buffer.from(curve), point]
}

/** A leading zero keeps the first bit of a number from being a sign. */
const mpint = (bytes: Buffer) =>
  (bytes[0] ?? 0) < 0x80 ? bytes : Buffer.concat([Buffer.of(0), bytes])
