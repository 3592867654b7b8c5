import { createHash, createPublicKey } from 'node:crypto'
import { isqrt } from '../../../packages/intake/src/arithmetic.ts'
import {
  base64url,
  base64urlToBigInt,
  minimalBytes,
} from '../../../packages/intake/src/encoding/bytes.ts'
import type { KeyRecord } from '../../../packages/server/src/features/keys/stored.ts'
import { nextPrime, seeded } from '../../intake/rsa/seeded.ts'
import { keyRecord } from '../store/key-records.ts'

const random = seeded('audited keys')
const encoded = (value: bigint) => base64url(minimalBytes(value))
const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data)

/** The record of an RSA key with any numbers, even weak ones that the intake rejects. */
export function rsaRecord(
  projectId: string,
  n: bigint,
  e = 65537n,
  members: Partial<KeyRecord> = {},
): KeyRecord {
  const numbers = { n: encoded(n), e: encoded(e) }
  const key = createPublicKey({ key: { kty: 'RSA', ...numbers }, format: 'jwk' })
  return keyRecord(projectId, {
    algorithm: 'RS256',
    jwsAlgorithm: 'RS256',
    publicKeyPem: key.export({ format: 'pem', type: 'spki' }).toString(),
    jwk: { kty: 'RSA', ...numbers },
    bits: n.toString(2).length,
    thumbprint: sha256(`{"e":"${numbers.e}","kty":"RSA","n":"${numbers.n}"}`).digest('base64url'),
    spkiSha256: sha256(key.export({ format: 'der', type: 'spki' })).digest('hex'),
    materialSha256: sha256(minimalBytes(n)).digest('hex'),
    ...members,
  })
}

/** The modulus of an RSA public key. */
export function modulusOf(publicKeyPem: string): bigint {
  const { n = '' } = createPublicKey(publicKeyPem).export({ format: 'jwk' })
  return base64urlToBigInt(n)
}

export function prime(): bigint {
  return random.prime(1024)
}

/** A modulus that about this many rounds of Fermat's method split. */
export function closeModulus(rounds: bigint): bigint {
  const p = prime()
  return p * nextPrime(p + 2n * (isqrt(8n * rounds * p) / 2n))
}
