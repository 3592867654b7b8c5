import { toBigInt } from '../encoding/bytes.ts'
import { oid } from '../encoding/oids.ts'
import { joseCurves } from '../kinds/curves.ts'
import { mlDsaSets } from '../kinds/ml-dsa.ts'
import type { PrivateKeyNumbers } from './private-der.ts'

const maxMemberLength = 8192

/** Reads the numbers of a private JWK (RFC 7518 section 6, RFC 8037, RFC 9964). */
export function readPrivateJwk(members: Record<string, unknown>): PrivateKeyNumbers | undefined {
  switch (members.kty) {
    case 'RSA':
      return readRsa(members)
    case 'EC':
      return readEc(members)
    case 'OKP':
      return members.crv === 'Ed25519' ? readSeed(oid.ed25519, members.d) : undefined
    case 'AKP':
      return readSeed(mlDsaSets.find(({ name }) => name === members.alg)?.oid, members.priv)
    default:
      return undefined
  }
}

function readRsa(members: Record<string, unknown>): PrivateKeyNumbers | undefined {
  const [n, e, exponent, ...factors] = [members.n, members.e, members.d, members.p, members.q].map(
    readNumber,
  )
  if (n === undefined || e === undefined) return undefined
  return {
    kind: 'rsa',
    n,
    e,
    factors: factors.filter((factor) => factor !== undefined),
    ...(exponent === undefined ? {} : { exponent }),
  }
}

function readEc(members: Record<string, unknown>): PrivateKeyNumbers | undefined {
  const curve = joseCurves.find(({ name }) => name === members.crv)
  const scalar = readNumber(members.d)
  if (curve === undefined || scalar === undefined) return undefined
  return { kind: 'ec', curve: curve.oid, scalar }
}

function readSeed(dotted: string | undefined, member: unknown): PrivateKeyNumbers | undefined {
  const secret = readBytes(member)
  if (dotted === undefined || secret === undefined) return undefined
  return { kind: 'seeded', oid: dotted, secret, form: 'seed' }
}

function readNumber(member: unknown): bigint | undefined {
  const bytes = readBytes(member)
  return bytes && toBigInt(bytes)
}

function readBytes(member: unknown): Uint8Array | undefined {
  if (typeof member !== 'string' || member === '' || member.length > maxMemberLength) {
    return undefined
  }
  return Buffer.from(member, 'base64url')
}
