import type { KeyObject } from 'node:crypto'
import { jwkFault } from '@pubring/intake'
import { type Algorithm, isAlgorithm } from '@pubring/intake/algorithms'
import { type Jwk, normalizedMembers, publicKeyOf } from '@pubring/intake/jwk'
import { withoutNulls } from '@pubring/intake/key-service'
import { present } from '@pubring/server/runtime/present'
import { CommandError } from '../terminal/failures.ts'

/** A public key from a file, as the server takes it. */
export interface PublicKeyFile {
  /** PEM; unchanged if no conversion was needed. */
  publicKeyPem: string
  /** For stderr: names the format that it was converted from. */
  converted?: string
  /** The `alg` of a JWK. */
  algorithm?: Algorithm
  /** The `kid` of a JWK. */
  kid?: string
  /** The validity of a JWK, by its `exp` and `nbf` and whether it is revoked. */
  active?: false
  expireTime?: string
  /** Says what was repaired without loss, and why the key is inactive. */
  note?: string
  /** The comment of an SSH key. */
  comment?: string
}

/** The error of a fault of the intake, which says what to do. */
export function refused({ code, detail }: { code: string; detail: string }): CommandError {
  return new CommandError('refused', detail, { code })
}

/**
 * Reads a JWK. Numbers with padding or with superfluous or missing zeros are normalized (RFC 7518). Throws
 * an error that says which member is at fault.
 */
export function readJwk(document: Jwk): PublicKeyFile {
  const jwk = withoutNulls(document)
  const fault = jwkFault(jwk)
  if (fault !== undefined) throw refused(fault)
  const key = publicKeyIn(jwk)
  const { alg, kid } = jwk
  const isNormalized = Object.entries(normalizedMembers(key)).every(
    ([name, value]) => jwk[name] === value,
  )
  const { note: validity, ...times } = validityOf(jwk)
  const notes = [
    isNormalized ? undefined : 'Its numbers were normalized (padding or zeros).',
    validity,
  ].filter((note) => note !== undefined)
  return {
    publicKeyPem: key.export({ type: 'spki', format: 'pem' }).toString(),
    ...present({
      algorithm: isAlgorithm(alg) ? alg : undefined,
      kid: typeof kid === 'string' ? kid : undefined,
      note: notes.join(' ') || undefined,
    }),
    ...times,
  }
}

function publicKeyIn(jwk: Jwk): KeyObject {
  try {
    return publicKeyOf(jwk)
  } catch {
    const detail = 'No public key can be read from the members of this JWK.'
    throw refused({ code: 'invalid_jwk', detail })
  }
}

/** The members of a JWK, beyond RFC 7517, that say when it may be used; times in seconds. */
function validityOf({
  exp,
  nbf,
  revoked,
}: Jwk): Pick<PublicKeyFile, 'active' | 'expireTime' | 'note'> {
  const inactive = (which: string) => ({
    active: false as const,
    note: `A JWK ${which} is registered inactive.`,
  })
  const nowSeconds = Date.now() / 1000
  if (revoked !== undefined && revoked !== false) return inactive('that is revoked')
  if (nbf !== undefined && Number(nbf) > nowSeconds) return inactive('whose nbf is not reached')
  if (exp === undefined) return {}
  if (Number(exp) <= nowSeconds) return inactive('whose exp has passed')
  return { expireTime: new Date(Number(exp) * 1000).toISOString() }
}
