import { hash } from 'node:crypto'
import type { PublicJwk } from '@pubring/intake'
import { jwsAlgorithmOf } from '@pubring/intake/algorithms'
import { writePem } from '@pubring/intake/encoding'
import type { KeyRecord } from '../../kernel/records.ts'

/** Stands for a JWK that is no longer JSON: no thumbprint matches it. */
export const damagedJwk: PublicJwk = { kty: 'OKP', crv: 'Ed25519', x: '' }

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
