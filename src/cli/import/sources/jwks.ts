import { createPublicKey } from 'node:crypto'
import { algorithmNames } from '../../../contract/algorithms.ts'
import { privateEntry, type Refusal, refusedEntry, type SourceEntry, stem } from './entry.ts'

type Jwk = Record<string, unknown>

/** Octets of the numbers that must have their full length (RFC 7518 section 6.2.1.2). */
const curveOctets: Readonly<Record<string, number>> = { 'P-256': 32, 'P-384': 48, 'P-521': 66 }

/**
 * The keys of a JWKS (RFC 7517), each with its own verdict: what is for encryption, symmetric or of an
 * unknown kind is refused, a second key with the same `kid` too. Numbers with padding or with zeros
 * too many or too few are written anew as the RFC has them. The label is the `kid`.
 */
export function readJwks(keys: readonly unknown[], name: string): SourceEntry[] {
  const kids = new Set<string>()
  return keys.map((value, index) => {
    const place = `${name}, entry ${index + 1}`
    const fallback = `${stem(name)} ${index + 1}`
    const jwk: Jwk = typeof value === 'object' && value !== null ? { ...value } : {}
    const secret =
      jwk.kty === 'oct' ? undefined : privateEntry(JSON.stringify(value), place, fallback)
    if (secret !== undefined) return secret
    const label = typeof jwk.kid === 'string' && jwk.kid.trim() !== '' ? jwk.kid : fallback
    const refusal = refusalOf(jwk) ?? (kids.has(label) ? sameKid : undefined)
    kids.add(label)
    return refusal === undefined ? keyEntry(jwk, place, label) : refusedEntry(place, label, refusal)
  })
}

const sameKid: Refusal = {
  code: 'duplicate_kid',
  detail: 'Another entry of the set has the same kid: verifiers cannot tell which one is meant.',
}

function refusalOf({ kty, use, key_ops, alg }: Jwk): Refusal | undefined {
  if (kty === 'oct') {
    const detail = 'A symmetric key (kty oct) is a secret, and verifies no token that others sign.'
    return { code: 'symmetric_key', detail }
  }
  if (!['RSA', 'EC', 'OKP', 'AKP'].includes(String(kty))) {
    return { code: 'unsupported_key', detail: 'kty must be RSA, EC, OKP or AKP.' }
  }
  const isForVerifying = !Array.isArray(key_ops) || key_ops.includes('verify')
  if ((use !== undefined && use !== 'sig') || !isForVerifying) {
    return { code: 'not_for_signatures', detail: 'The key is not for signatures (use, key_ops).' }
  }
  const known = algorithmNames.some((algorithm) => algorithm === alg)
  if (alg !== undefined && !known) {
    const detail = `alg must be one of ${algorithmNames.slice(1).join(', ')}, or absent.`
    return { code: 'unsupported_algorithm', detail }
  }
  return undefined
}

function keyEntry(jwk: Jwk, place: string, label: string): SourceEntry {
  const members = publicMembers(jwk)
  try {
    const key = createPublicKey({ key: members, format: 'jwk' })
    const publicKeyPem = key.export({ type: 'spki', format: 'pem' }).toString()
    const rewritten = Object.entries(members).some(([name, value]) => jwk[name] !== value)
    return {
      place,
      label,
      key: {
        publicKeyPem,
        ...(typeof jwk.alg === 'string' ? { algorithm: jwk.alg } : {}),
        ...(typeof jwk.kid === 'string' ? { kid: jwk.kid } : {}),
      },
      ...(rewritten ? { note: 'Its numbers were written anew, without padding or zeros.' } : {}),
    }
  } catch {
    const detail = 'No public key can be read from the members of this entry.'
    return refusedEntry(place, label, { code: 'invalid_jwk', detail })
  }
}

/** The members that make the key, in the one form that RFC 7518 has for each. */
function publicMembers(jwk: Jwk): Record<string, string> {
  const text = (name: string) => String(jwk[name] ?? '')
  switch (jwk.kty) {
    case 'RSA':
      return { kty: 'RSA', n: number(text('n')), e: number(text('e')) }
    case 'EC': {
      const octets = curveOctets[text('crv')]
      const [x, y] = [number(text('x'), octets), number(text('y'), octets)]
      return { kty: 'EC', crv: text('crv'), x, y }
    }
    case 'OKP':
      return { kty: 'OKP', crv: text('crv'), x: unpadded(text('x')) }
    default:
      return { kty: 'AKP', alg: text('alg'), pub: unpadded(text('pub')) }
  }
}

function unpadded(text: string): string {
  return text.replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_')
}

/** A number without leading zeros, or with as many as make the length. Other text stays as it is. */
function number(text: string, length = 0): string {
  const plain = unpadded(text)
  if (!/^[\w-]+$/.test(plain)) return text
  const octets = Buffer.from(plain, 'base64url')
  const first = octets.findIndex((octet) => octet !== 0)
  const digits = octets.subarray(first < 0 ? octets.length : first)
  const zeros = Buffer.alloc(Math.max(0, length - digits.length))
  return Buffer.concat([zeros, digits]).toString('base64url')
}
