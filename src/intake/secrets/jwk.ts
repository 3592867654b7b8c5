import { toNumber } from '../encoding/bytes.ts'
import { oid } from '../encoding/oids.ts'
import { joseCurves } from '../kinds/curves.ts'
import { mlDsaSets } from '../kinds/ml-dsa-sets.ts'
import type { StatedPrivateKey } from './asn1.ts'

const MAX_MEMBER_LENGTH = 8192

/** The numbers of a private JWK (RFC 7518 section 6, RFC 8037, RFC 9964), unproven. */
export function statedByJwk(members: Record<string, unknown>): StatedPrivateKey | undefined {
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

function statedRsa(members: Record<string, unknown>): StatedPrivateKey | undefined {
  const [n, e, d] = [octetsOf(members.n), octetsOf(members.e), octetsOf(members.d)]
  if (n === undefined || e === undefined) return undefined
  const factors = [octetsOf(members.p), octetsOf(members.q)]
    .filter((octets) => octets !== undefined)
    .map(toNumber)
  const numbers = { kind: 'rsa', n: toNumber(n), e: toNumber(e), factors } as const
  return d === undefined ? numbers : { ...numbers, exponent: toNumber(d) }
}

function statedEc(members: Record<string, unknown>): StatedPrivateKey | undefined {
  const curve = joseCurves.find(({ name }) => name === members.crv)
  const scalar = octetsOf(members.d)
  if (curve === undefined || scalar === undefined) return undefined
  return { kind: 'ec', curve: curve.oid, scalar: toNumber(scalar) }
}

function statedSeed(name: string | undefined, secret: unknown): StatedPrivateKey | undefined {
  const octets = octetsOf(secret)
  if (name === undefined || octets === undefined) return undefined
  return { kind: 'seeded', oid: name, secret: octets, form: 'seed' }
}

function octetsOf(member: unknown): Uint8Array | undefined {
  if (typeof member !== 'string' || member === '' || member.length > MAX_MEMBER_LENGTH) {
    return undefined
  }
  return Buffer.from(member, 'base64url')
}
