import type { KeyObject } from 'node:crypto'
import { type Algorithm, algorithmNames, matchingAlgorithms } from '@pubring/intake/algorithms'
import { parseChoice } from '../terminal/failures.ts'

/** The named algorithm. Throws a usage error that suggests the nearest name. */
export function parseAlgorithm(name: string): Algorithm {
  return parseChoice(name, algorithmNames, '--algorithm')
}

export function isAlgorithm(name: unknown): name is Algorithm {
  return algorithmNames.some((algorithm) => algorithm === name)
}

const byCurve: Readonly<Record<string, readonly Algorithm[]>> = {
  prime256v1: matchingAlgorithms['P-256'],
  secp384r1: matchingAlgorithms['P-384'],
  secp521r1: matchingAlgorithms['P-521'],
}

/** The algorithms that fit the key, the usual one first; none if it cannot sign tokens. */
export function algorithmsOf(key: KeyObject): readonly Algorithm[] {
  const { asymmetricKeyType: type = '', asymmetricKeyDetails: details = {} } = key
  switch (type) {
    case 'rsa':
      return matchingAlgorithms.rsaEncryption
    case 'rsa-pss': {
      // A key without parameters fits every hash.
      const size = details.hashAlgorithm?.replace('sha', '') ?? ''
      return matchingAlgorithms.rsaPss.filter((name) => name.endsWith(size))
    }
    case 'ec':
      return byCurve[details.namedCurve ?? ''] ?? []
    case 'ed25519':
      return matchingAlgorithms.Ed25519
    default:
      return algorithmNames.filter((name) => name === type.toUpperCase())
  }
}
