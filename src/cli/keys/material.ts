import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import type { Algorithm } from '../../contract/algorithms.ts'

/** What this machine can tell of a public key; whether it is taken is for the server to say. */
export interface KeyMaterial {
  /** Equal for equal keys, in whatever form they come. */
  identity: string
  /** The values of `algorithm` for its kind, the usual one first. */
  algorithms: Algorithm[]
  /** Milliseconds that its examination takes on a server, about. */
  cost: number
}

/** Undefined where the platform reads no public key in the text. */
export function materialOf(publicKeyPem: string): KeyMaterial | undefined {
  try {
    const key = createPublicKey(publicKeyPem)
    return { identity: identityOf(key), algorithms: algorithmsOf(key), cost: costOf(key) }
  } catch {
    return undefined
  }
}

function identityOf(key: KeyObject): string {
  const spki = key.export({ type: 'spki', format: 'der' })
  return createHash('sha256').update(spki).digest('hex')
}

const rsaAlgorithms: Algorithm[] = ['RSA', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']

const curves: Readonly<Record<string, Algorithm>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
}

function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): Algorithm[] {
  const { namedCurve = '', hashAlgorithm } = asymmetricKeyDetails ?? {}
  switch (asymmetricKeyType) {
    case 'rsa':
      return rsaAlgorithms
    case 'rsa-pss':
      return hashAlgorithm === 'sha512'
        ? ['PS512']
        : hashAlgorithm === 'sha384'
          ? ['PS384']
          : pss(hashAlgorithm)
    case 'ed25519':
      return ['Ed25519', 'EdDSA']
    case 'ml-dsa-44':
      return ['ML-DSA-44']
    case 'ml-dsa-65':
      return ['ML-DSA-65']
    case 'ml-dsa-87':
      return ['ML-DSA-87']
    default: {
      const algorithm = curves[namedCurve]
      return algorithm === undefined ? [] : [algorithm]
    }
  }
}

/** A key without parameters goes with every hash. */
function pss(hashAlgorithm: string | undefined): Algorithm[] {
  return hashAlgorithm === undefined ? ['PS256', 'PS384', 'PS512'] : ['PS256']
}

function costOf({ asymmetricKeyDetails }: KeyObject): number {
  const bits = asymmetricKeyDetails?.modulusLength ?? 0
  return bits === 0 ? 2 : bits <= 2048 ? 15 : bits <= 3072 ? 40 : 80
}
