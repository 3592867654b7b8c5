import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import type { Algorithm } from '../../contract/algorithms.ts'
import { normalizeText } from '../../intake/encoding/text.ts'
import { algorithmsOf } from '../keys/kinds.ts'

/** A public key as far as this machine can examine it; the server decides whether to accept it. */
export interface KeyMaterial {
  /** Equal for equal keys in any encoding. */
  spkiSha256: string
  /** The algorithms that fit, the usual one first. */
  algorithms: readonly Algorithm[]
  /** Approximate time that the server needs to examine it. */
  costMs: number
}

/** Undefined if the platform reads no public key in the text. */
export function readMaterial(publicKeyPem: string): KeyMaterial | undefined {
  try {
    const key = createPublicKey(withLines(publicKeyPem))
    const spki = key.export({ type: 'spki', format: 'der' })
    const spkiSha256 = createHash('sha256').update(spki).digest('hex')
    return { spkiSha256, algorithms: algorithmsOf(key), costMs: costOf(key) }
  } catch {
    return undefined
  }
}

/** The text with the lines that OpenSSL requires of PEM: YAML may have folded them into one. */
function withLines(publicKeyPem: string): string {
  return normalizeText(publicKeyPem).text.replace(
    /(-----BEGIN [^-]+-----) | (-----END )/g,
    '$1\n$2',
  )
}

export const minCostMs = 2

function costOf({ asymmetricKeyDetails }: KeyObject): number {
  const bits = asymmetricKeyDetails?.modulusLength ?? 0
  return bits === 0 ? minCostMs : bits <= 2048 ? 15 : bits <= 3072 ? 40 : 80
}
