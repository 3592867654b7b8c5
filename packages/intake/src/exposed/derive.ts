import { createECDH, createPrivateKey, createPublicKey } from 'node:crypto'
import { modPow } from '../arithmetic.ts'
import { fixedBytes } from '../encoding/bytes.ts'
import { tag } from '../encoding/der.ts'
import { encode, encodePkcs8 } from '../encoding/der-writer.ts'
import { sha256Hex, thumbprintOf } from '../encoding/jwk.ts'
import { oid } from '../encoding/oids.ts'
import { joseCurves } from '../kinds/curves.ts'
import { parsedEcKey } from '../kinds/ec.ts'
import { parsedEd25519Key } from '../kinds/ed25519.ts'
import { mlDsaSets, parsedMlDsaKey } from '../kinds/ml-dsa.ts'
import { parsedRsaKey } from '../kinds/rsa.ts'
import type { ParsedKey } from '../parsed-key.ts'
import type { Secret, SecretFinding } from '../secrets/detector.ts'
import type { ExposedKey } from '../types.ts'
import { readOpenssh } from './openssh.ts'
import { type PrivateKeyNumbers, readPrivateDer } from './private-der.ts'
import { readPrivateJwk } from './private-jwk.ts'

const maxSecrets = 4
/** Larger moduli are rejected anyway, and their arithmetic is slow. */
const maxModulusBits = 8192n
const maxExponentiationBits = 4096n
const maxExponent = 2n ** 31n

/**
 * The hashes of the public key of a submitted private key. They are derived from the secret, not
 * copied from the public numbers beside it: otherwise a caller could put another owner's key on the
 * block list.
 */
export function deriveExposedKey(finding: SecretFinding): ExposedKey | undefined {
  for (const secret of finding.secrets.slice(0, maxSecrets)) {
    const numbers = readSecret(secret)
    const key = numbers && derive(numbers)
    if (key !== undefined) {
      return { thumbprint: thumbprintOf(key.jwk), materialSha256: sha256Hex(key.material) }
    }
  }
  return undefined
}

function readSecret(secret: Secret): PrivateKeyNumbers | undefined {
  if (secret.kind === 'asn1') return readPrivateDer(secret.bytes)
  return secret.kind === 'jwk' ? readPrivateJwk(secret.members) : readOpenssh(secret.bytes)
}

function derive(numbers: PrivateKeyNumbers): ParsedKey | undefined {
  switch (numbers.kind) {
    case 'rsa':
      return deriveRsa(numbers)
    case 'ec':
      return deriveEc(numbers.curve, numbers.scalar)
    case 'seeded':
      return deriveSeeded(numbers)
  }
}

/** A factor of the modulus, or an exponent that inverts the public one, proves that the private key is known. */
function deriveRsa(numbers: PrivateKeyNumbers & { kind: 'rsa' }): ParsedKey | undefined {
  const { n, e, factors, exponent } = numbers
  if (n < 4n || e < 1n || n >> maxModulusBits > 0n) return undefined
  const isFactored = factors.some((factor) => factor > 1n && factor < n && n % factor === 0n)
  return isFactored || isPrivateExponent(exponent, n, e) ? parsedRsaKey(n, e) : undefined
}

function isPrivateExponent(d: bigint | undefined, n: bigint, e: bigint): boolean {
  if (d === undefined || d < 2n || d >= n || n >> maxExponentiationBits > 0n) return false
  if (e > maxExponent) return false
  return [3n, 5n].every((base) => modPow(modPow(base, e, n), d, n) === base)
}

function deriveEc(dotted: string, scalar: bigint): ParsedKey | undefined {
  const curve = joseCurves.find((known) => known.oid === dotted)
  if (curve === undefined || scalar < 1n || scalar >= curve.n) return undefined
  const pair = createECDH(curve.platformName)
  pair.setPrivateKey(Buffer.from(fixedBytes(scalar, curve.size)))
  return parsedEcKey(curve, pair.getPublicKey())
}

/** Ed25519 and ML-DSA keys, from a seed or an expanded private key. */
function deriveSeeded(numbers: PrivateKeyNumbers & { kind: 'seeded' }): ParsedKey | undefined {
  const { oid: dotted, secret, form } = numbers
  const set = mlDsaSets.find((known) => known.oid === dotted)
  if (set === undefined && dotted !== oid.ed25519) return undefined
  if (secret.length !== (form === 'seed' ? 32 : set?.expandedLength)) return undefined
  const wrapper = set !== undefined && form === 'seed' ? 0x80 : tag.octetString
  const spki = derivePublicSpki(dotted, encode(wrapper, secret))
  if (spki === undefined) return undefined
  if (set === undefined) return parsedEd25519Key(spki.subarray(-32))
  return parsedMlDsaKey(set, spki.subarray(-set.length))
}

/** The SPKI of the public key for the private key of a PKCS#8; undefined if Node rejects it. */
function derivePublicSpki(dotted: string, key: Uint8Array): Uint8Array | undefined {
  const der = Buffer.from(encodePkcs8(dotted, key))
  try {
    const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    return createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  } catch {
    return undefined
  }
}
