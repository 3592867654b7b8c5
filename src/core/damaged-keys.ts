import { hash } from 'node:crypto'
import { jwsAlgorithmOf } from '../intake/algorithms.ts'
import { writePem } from '../intake/encoding/pem.ts'
import type { PublicJwk } from '../intake/types.ts'
import { parseJson } from '../runtime/json.ts'
import type { KeyRecord, KeySet } from './records.ts'

/** Stands for a JWK that is no longer JSON: no thumbprint matches it. */
export const damagedJwk: PublicJwk = { kty: 'OKP', crv: 'Ed25519', x: '' }

/** The stored JSON, or the substitute if it is no longer JSON. */
export function parseStored<Value>(text: string, substitute: Value): Value {
  const value = parseJson(text) as Value | null | undefined
  return value ?? substitute
}

/**
 * Whether the stored key still is what was registered: a disk, a copy or a person may have changed
 * its row. RFC 7638 thumbprints cover exactly the members that a stored JWK has.
 */
export function isIntact(key: KeyRecord): boolean {
  const members = JSON.stringify(key.jwk, Object.keys(key.jwk).sort())
  const [, body = ''] = /^-----BEGIN PUBLIC KEY-----\n([^-]*)/.exec(key.publicKeyPem) ?? []
  const spki = Buffer.from(body, 'base64')
  return (
    hash('sha256', members, 'base64url') === key.thumbprint &&
    hash('sha256', spki, 'hex') === key.spkiSha256 &&
    writePem(spki) === key.publicKeyPem &&
    jwsAlgorithmOf(key.algorithm) === key.jwsAlgorithm
  )
}

/** A key whose row does not match its own hashes. */
export interface DamagedKey {
  projectId: string
  kid: string
}

export interface DamagedKeys {
  /** The key set without the keys that must not be published. */
  remove(projectId: string, keySet: KeySet): KeySet
  /** Their number in the key sets that this process has built. */
  count(): number
}

/** Keeps damaged keys out of published documents. `report` gets each when a key set is built. */
export function createDamagedKeys(report: (key: DamagedKey) => void): DamagedKeys {
  const damaged = new Map<string, number>()
  return {
    remove(projectId, keySet) {
      const keys = keySet.keys.filter(isIntact)
      const found = keySet.keys.length - keys.length
      if (found === 0) {
        damaged.delete(projectId)
        return keySet
      }
      damaged.set(projectId, found)
      for (const key of keySet.keys) if (!keys.includes(key)) report({ projectId, kid: key.id })
      return { ...keySet, keys }
    },
    count: () => damaged.values().reduce((sum, found) => sum + found, 0),
  }
}
