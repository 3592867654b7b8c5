import { toBigInt } from '../encoding/bytes.ts'
import { oid } from '../encoding/oids.ts'
import { joseCurves } from '../kinds/curves.ts'
import { mlDsaSets } from '../kinds/ml-dsa-sets.ts'
import type { PrivateKeyNumbers } from './private-der.ts'

const MAX_MEMBER_LENGTH = 8192

/** The numbers of a private JWK (RFC 7518 section 6, RFC 8037, RFC 9964), unproven. */
export function readPrivateJwk(members: Record<string, unknown>): PrivateKeyNumbers | undefined {
  switch (members.kty) {
    case 'RSA':
      return statedRsa(members)
    case 'EC':
      return statedEc(members)
    case 'OKP':
      return members.crv === 'Ed25519' ? statedSeed(oid.ed25519, members.d) : undefined
    case 'AKP':
      return statedSeed(mlDsaSets.find(({ name }) => name === members.alg)?.oid, members.priv)
    default:
      return undefined
  }
}

function statedRsa(members: Record<string, unknown>): PrivateKeyNumbers | undefined {
  const [n, e, d] = [bytesOf(members.n), bytesOf(members.e), bytesOf(members.d)]
  if (n === undefined || e === undefined) return undefined
  const factors = [bytesOf(members.p), bytesOf(members.q)]
    .filter((bytes) => bytes !== undefined)
    .map(toBigInt)
  const numbers = { kind: 'rsa', n: toBigInt(n), e: toBigInt(e), factors } as const
  return d === undefined ? numbers : { ...numbers, exponent: toBigInt(d) }
}

function statedEc(members: Record<string, unknown>): PrivateKeyNumbers | undefined {
  const curve = joseCurves.find(({ name }) => name === members.crv)
  const scalar = bytesOf(members.d)
  if (curve === undefined || scalar === undefined) return undefined
  return { kind: 'ec', curve: curve.oid, scalar: toBigInt(scalar) }
}

function statedSeed(name: string | undefined, secret: unknown): PrivateKeyNumbers | undefined {
  const bytes = bytesOf(secret)
  if (name === undefined || bytes === undefined) return undefined
  return { kind: 'seeded', oid: name, secret: bytes, form: 'seed' }
}

function bytesOf(member: unknown): Uint8Array | undefined {
  if (typeof member !== 'string' || member === '' || member.length > MAX_MEMBER_LENGTH) {
    return undefined
  }
  return Buffer.from(member, 'base64url')
}
