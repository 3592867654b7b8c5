import { createECDH, createPrivateKey, createPublicKey } from 'node:crypto'
import { fixedOctets, toNumber } from '../encoding/bytes.ts'
import { encode, encodeInteger, tag } from '../encoding/der.ts'
import { sha256Hex, thumbprintOf } from '../encoding/jwk.ts'
import { oid } from '../encoding/oids.ts'
import { encodeOid } from '../encoding/spki-writer.ts'
import { recogniseMlDsa } from '../kinds/akp.ts'
import { type JoseCurve, joseCurves, power } from '../kinds/curves.ts'
import { recogniseEc } from '../kinds/ec.ts'
import { mlDsaSets } from '../kinds/ml-dsa-sets.ts'
import { recogniseEd25519 } from '../kinds/okp.ts'
import { recognisePlainRsa } from '../kinds/rsa-key.ts'
import type { RecognisedKey } from '../recognised.ts'
import { readPrivateDer, type StatedPrivateKey } from '../secrets/asn1.ts'
import type { Secret, SecretFinding } from '../secrets/detector.ts'
import { statedByJwk } from '../secrets/jwk.ts'
import { readOpenssh } from '../secrets/openssh.ts'
import type { Exposed } from '../types.ts'

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
export function deriveExposed(finding: SecretFinding): Exposed | undefined {
  for (const secret of finding.secrets.slice(0, MAX_SECRETS)) {
    const stated = readSecret(secret)
    const key = stated === undefined ? undefined : derive(stated)
    if (key !== undefined) {
      return { thumbprint: thumbprintOf(key.jwk), materialSha256: sha256Hex(key.material) }
    }
  }
  return undefined
}

function readSecret(secret: Secret): StatedPrivateKey | undefined {
  if (secret.kind === 'asn1') return readPrivateDer(secret.octets)
  return secret.kind === 'jwk' ? statedByJwk(secret.members) : readOpenssh(secret.octets)
}

function derive(stated: StatedPrivateKey): RecognisedKey | undefined {
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
function deriveRsa(stated: StatedPrivateKey & { kind: 'rsa' }): RecognisedKey | undefined {
  const { n, e, factors, exponent } = stated
  if (n < 4n || e < 1n || n >> MAX_MODULUS_BITS > 0n) return undefined
  const factored = factors.some((factor) => factor > 1n && factor < n && n % factor === 0n)
  return factored || undoes(n, e, exponent) ? recognisePlainRsa(n, e) : undefined
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

function deriveEc(dotted: string, scalar: bigint): RecognisedKey | undefined {
  const curve = joseCurves.find((known) => known.oid === dotted)
  if (curve === undefined || scalar < 1n || scalar >= curve.n) return undefined
  const pair = createECDH(platformCurves[curve.name])
  pair.setPrivateKey(Buffer.from(fixedOctets(scalar, curve.size)))
  const point = pair.getPublicKey()
  const x = toNumber(point.subarray(1, 1 + curve.size))
  return recogniseEc(curve, x, toNumber(point.subarray(1 + curve.size)))
}

/** Octets of an expanded ML-DSA private key (FIPS 204 table 2). */
const expandedOctets: Readonly<Record<string, number>> = {
  [oid.mlDsa44]: 2560,
  [oid.mlDsa65]: 4032,
  [oid.mlDsa87]: 4896,
}

function deriveSeeded(
  dotted: string,
  secret: Uint8Array,
  form: 'seed' | 'expanded',
): RecognisedKey | undefined {
  const set = mlDsaSets.find((known) => known.oid === dotted)
  if (set === undefined && dotted !== oid.ed25519) return undefined
  if (secret.length !== (form === 'seed' ? 32 : expandedOctets[dotted])) return undefined
  const wrapper = set !== undefined && form === 'seed' ? 0x80 : tag.octetString
  const spki = publicHalf(dotted, encode(wrapper, secret))
  if (spki === undefined) return undefined
  if (set === undefined) return recogniseEd25519(spki.subarray(-32))
  return recogniseMlDsa(set, spki.subarray(-set.length))
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
