import { algorithmNames } from '@pubring/intake/algorithms'
import { isSignatureUse, type Jwk, normalizedMembers, publicKeyOf } from '@pubring/intake/jwk'
import { placeholderKid } from '@pubring/server/kernel/contract'
import { pemOfJwk } from '../keys/files.ts'
import { isAlgorithm } from '../keys/kinds.ts'
import {
  type EntryContent,
  orRejection,
  publishedKidOf,
  type Rejection,
  readEntry,
  type SourceEntry,
  stem,
} from './entry.ts'

/**
 * The keys of a JWKS (RFC 7517). An entry for encryption, a symmetric key, an unknown type and a
 * second entry with the same `kid` are rejected. Numbers with padding or with superfluous or missing
 * zeros are normalized (RFC 7518). The `kid` is the label and the published kid.
 * Leaves out Pubring's placeholder. The validity that an entry states decides whether its key is active.
 */
export function readJwks(keys: readonly unknown[], name: string): SourceEntry[] {
  const kids = new Set<string>()
  return keys
    .filter((value) => Object(value).kid !== placeholderKid)
    .map((value, index) => {
      const place = `${name}, entry ${index + 1}`
      const fallback = `${stem(name)} ${index + 1}`
      const jwk: Jwk = typeof value === 'object' && value !== null ? { ...value } : {}
      const label = typeof jwk.kid === 'string' && jwk.kid.trim() !== '' ? jwk.kid : fallback
      const rejection = rejectionOf(jwk) ?? (kids.has(label) ? duplicateKid : undefined)
      const text = jwk.kty === 'oct' ? '' : JSON.stringify(value)
      return readEntry({ place, label, text, safeLabel: fallback }, () => {
        kids.add(label)
        return rejection === undefined ? readKey(jwk) : { rejection }
      })
    })
}

const duplicateKid: Rejection = {
  code: 'duplicate_kid',
  detail: 'Another entry of the set has the same kid: verifiers cannot tell them apart.',
}

function rejectionOf({ kty, use, key_ops, alg, exp, nbf }: Jwk): Rejection | undefined {
  if (kty === 'oct') {
    const detail = 'A symmetric key (kty oct) is a secret and cannot verify tokens of others.'
    return { code: 'symmetric_key', detail }
  }
  if (!['RSA', 'EC', 'OKP', 'AKP'].includes(String(kty))) {
    return { code: 'unsupported_key', detail: 'kty must be RSA, EC, OKP or AKP.' }
  }
  const canVerify = !Array.isArray(key_ops) || key_ops.includes('verify')
  if (!isSignatureUse(use) || !canVerify) {
    return { code: 'not_for_signatures', detail: 'The key is not for signatures (use, key_ops).' }
  }
  if (alg !== undefined && !isAlgorithm(alg)) {
    const detail = `alg must be one of ${algorithmNames.slice(1).join(', ')}, or absent.`
    return { code: 'unsupported_algorithm', detail }
  }
  if ([exp, nbf].some((time) => time !== undefined && typeof time !== 'number')) {
    const detail = 'exp and nbf must be numbers: seconds since 1970.'
    return { code: 'invalid_jwk', detail }
  }
  return undefined
}

function readKey(jwk: Jwk): EntryContent {
  return orRejection(() => {
    const publicKeyPem = pemOfJwk(jwk)
    const isNormalized = Object.entries(normalizedMembers(publicKeyOf(jwk))).every(
      ([name, value]) => jwk[name] === value,
    )
    const validity = validityOf(jwk)
    const published = publishedKidOf(jwk.kid)
    const notes = [
      ...(isNormalized ? [] : ['Its numbers were normalized (padding or zeros).']),
      ...[validity.note, published.note].filter((note) => note !== undefined),
    ]
    return {
      key: {
        publicKeyPem,
        ...validity.fields,
        ...published.fields,
        ...(typeof jwk.alg === 'string' ? { algorithm: jwk.alg } : {}),
      },
      ...(notes.length === 0 ? {} : { note: notes.join(' ') }),
    }
  })
}

/** The members of a JWK, beyond RFC 7517, that say when it may be used; times in seconds. */
function validityOf({ exp, nbf, revoked }: Jwk): {
  fields: { active?: false; expireTime?: string }
  note?: string
} {
  const inactive = (reason: string) => ({
    fields: { active: false as const },
    note: `It is registered inactive: ${reason}.`,
  })
  const nowSeconds = Date.now() / 1000
  if (revoked !== undefined && revoked !== null && revoked !== false)
    return inactive('it is revoked')
  if (nbf !== undefined && !(Number(nbf) <= nowSeconds)) return inactive('its nbf is not reached')
  if (exp === undefined) return { fields: {} }
  // The range of Date, so that any other value counts as passed.
  if (!(Number(exp) > nowSeconds && Number(exp) <= 8.64e12)) return inactive('its exp has passed')
  return { fields: { expireTime: new Date(Number(exp) * 1000).toISOString() } }
}
