import { hash } from 'node:crypto'
import { jwsAlgorithmOf } from '../intake/algorithms.ts'
import { writePem } from '../intake/encoding/pem.ts'
import type { PublicJwk } from '../intake/types.ts'
import { parseJson } from '../runtime/json.ts'
import type { KeyRecord } from './records.ts'

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
