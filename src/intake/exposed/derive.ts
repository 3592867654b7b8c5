import { createECDH, createPrivateKey, createPublicKey } from 'node:crypto'
import { fixedBytes, toBigInt } from '../encoding/bytes.ts'
import { encode, encodeInteger, tag } from '../encoding/der.ts'
import { encodeOid } from '../encoding/der-writer.ts'
import { sha256Hex, thumbprintOf } from '../encoding/jwk.ts'
import { oid } from '../encoding/oids.ts'
import { type JoseCurve, joseCurves, power } from '../kinds/curves.ts'
import { parsedEcKey } from '../kinds/ec.ts'
import { parsedEd25519Key } from '../kinds/ed25519.ts'
import { parsedMlDsaKey } from '../kinds/ml-dsa.ts'
import { mlDsaSets } from '../kinds/ml-dsa-sets.ts'
import { parsedRsaKey } from '../kinds/rsa.ts'
import type { ParsedKey } from '../parsed-key.ts'
import type { Secret, SecretFinding } from '../secrets/detector.ts'
import type { ExposedKey } from '../types.ts'
import { readOpenssh } from './openssh.ts'
import { type PrivateKeyNumbers, readPrivateDer } from './private-der.ts'
import { readPrivateJwk } from './private-jwk.ts'

const MAX_SECRETS = 4
/** A modulus above this is not kept anyway, and its arithmetic would cost too much. */
const MAX_MODULUS_BITS = 8192n
const MAX_EXPONENTIATION_BITS = 4096n
const MAX_EXPONENT = 2n ** 31n

/**
 * The hashes of the public half of a private key that was sent. Each is derived from the secret
 * itself and not from the public numbers beside it, so that nobody can put the key of somebody else
 * on the block list by pretending to own it.
 */
export function deriveExposedKey(finding: SecretFinding): ExposedKey | undefined {
  for (const secret of finding.secrets.slice(0, MAX_SECRETS)) {
    const stated = readSecret(secret)
    const key = stated === undefined ? undefined : derive(stated)
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

function derive(stated: PrivateKeyNumbers): ParsedKey | undefined {
  switch (stated.kind) {
    case 'rsa':
      return deriveRsa(stated)
    case 'ec':
      return deriveEc(stated.curve, stated.scalar)
    case 'seeded':
      return deriveSeeded(stated.oid, stated.secret, stated.form)
  }
}

/** A factor of the modulus, or an exponent that undoes the public one, proves the private key. */
function deriveRsa(stated: PrivateKeyNumbers & { kind: 'rsa' }): ParsedKey | undefined {
  const { n, e, factors, exponent } = stated
  if (n < 4n || e < 1n || n >> MAX_MODULUS_BITS > 0n) return undefined
  const factored = factors.some((factor) => factor > 1n && factor < n && n % factor === 0n)
  return factored || undoes(n, e, exponent) ? parsedRsaKey(n, e) : undefined
}

function undoes(n: bigint, e: bigint, d: bigint | undefined): boolean {
  if (d === undefined || d < 2n || d >= n || n >> MAX_EXPONENTIATION_BITS > 0n) return false
  if (e > MAX_EXPONENT) return false
  return power(power(3n, e, n), d, n) === 3n && power(power(5n, e, n), d, n) === 5n
}

const platformCurves: Readonly<Record<JoseCurve['name'], string>> = {
  'P-256': 'prime256v1',
  'P-384': 'secp384r1',
  'P-521': 'secp521r1',
}

function deriveEc(dotted: string, scalar: bigint): ParsedKey | undefined {
  const curve = joseCurves.find((known) => known.oid === dotted)
  if (curve === undefined || scalar < 1n || scalar >= curve.n) return undefined
  const pair = createECDH(platformCurves[curve.name])
  pair.setPrivateKey(Buffer.from(fixedBytes(scalar, curve.size)))
  const point = pair.getPublicKey()
  const x = toBigInt(point.subarray(1, 1 + curve.size))
  return parsedEcKey(curve, x, toBigInt(point.subarray(1 + curve.size)))
}

/** Bytes of an expanded ML-DSA private key (FIPS 204 table 2). */
const expandedBytes: Readonly<Record<string, number>> = {
  [oid.mlDsa44]: 2560,
  [oid.mlDsa65]: 4032,
  [oid.mlDsa87]: 4896,
}

function deriveSeeded(
  dotted: string,
  secret: Uint8Array,
  form: 'seed' | 'expanded',
): ParsedKey | undefined {
  const set = mlDsaSets.find((known) => known.oid === dotted)
  if (set === undefined && dotted !== oid.ed25519) return undefined
  if (secret.length !== (form === 'seed' ? 32 : expandedBytes[dotted])) return undefined
  const wrapper = set !== undefined && form === 'seed' ? 0x80 : tag.octetString
  const spki = publicHalf(dotted, encode(wrapper, secret))
  if (spki === undefined) return undefined
  if (set === undefined) return parsedEd25519Key(spki.subarray(-32))
  return parsedMlDsaKey(set, spki.subarray(-set.length))
}

/** The public half by the platform, from PKCS#8 that we wrote; undefined where it knows no such. */
function publicHalf(dotted: string, key: Uint8Array): Uint8Array | undefined {
  const algorithm = encode(tag.sequence, encodeOid(dotted))
  const version = encodeInteger(new Uint8Array())
  const der = encode(tag.sequence, version, algorithm, encode(tag.octetString, key))
  try {
    const pair = createPrivateKey({ key: Buffer.from(der), format: 'der', type: 'pkcs8' })
    return createPublicKey(pair).export({ type: 'spki', format: 'der' })
  } catch {
    return undefined
  }
}
