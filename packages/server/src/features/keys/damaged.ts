import { hash } from 'node:crypto'
import type { PublicJwk } from '@pubring/intake'
import { jwsAlgorithmOf } from '@pubring/intake/algorithms'
import { writePem } from '@pubring/intake/encoding'
import type { KeyRecord } from '../../kernel/records.ts'
import { isNestedWithin, parseJson } from '../../runtime/json.ts'

/** Stands for a JWK that is no longer JSON: no thumbprint matches it. */
export const damagedJwk: PublicJwk = { kty: 'OKP', crv: 'Ed25519', x: '' }

/** Levels of arrays and objects in a column: recursive functions must not exhaust the stack. */
const maxLevels = 32

/** The stored object or array, or the substitute if it no longer is one. */
export function parseStored<Value extends object>(text: string, substitute: Value): Value {
  const value = parseJson(text)
  const isKept = Array.isArray(value) === Array.isArray(substitute) && value instanceof Object
  return isKept && isNestedWithin(value, maxLevels) ? (value as Value) : substitute
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
