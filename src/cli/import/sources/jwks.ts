import { algorithmNames } from '../../../contract/algorithms.ts'
import { placeholderKid } from '../../../contract/published.ts'
import { toPem } from '../../keys/conversion.ts'
import { type Jwk, normalizedMembers, publicKeyOf } from '../../keys/jwk.ts'
import { isAlgorithm } from '../../keys/kinds.ts'
import { type EntryContent, privateEntry, type Rejection, type SourceEntry, stem } from './entry.ts'

/**
 * The keys of a JWKS (RFC 7517). An entry for encryption, a symmetric key, an unknown type and a
 * second entry with the same `kid` are rejected. Numbers with padding or with superfluous or missing
 * zeros are normalized (RFC 7518). The label is the `kid`. Pubring's placeholder is no key.
 */
export function readJwks(keys: readonly unknown[], name: string): SourceEntry[] {
  const kids = new Set<string>()
  return keys.filter(isNoPlaceholder).map((value, index) => {
    const place = `${name}, entry ${index + 1}`
    const fallback = `${stem(name)} ${index + 1}`
    const jwk: Jwk = typeof value === 'object' && value !== null ? { ...value } : {}
    const secret =
      jwk.kty === 'oct' ? undefined : privateEntry(JSON.stringify(value), place, fallback)
    if (secret !== undefined) return secret
    const label = typeof jwk.kid === 'string' && jwk.kid.trim() !== '' ? jwk.kid : fallback
    const rejection = rejectionOf(jwk) ?? (kids.has(label) ? duplicateKid : undefined)
    kids.add(label)
    return { place, label, ...(rejection === undefined ? readKey(jwk) : { rejection }) }
  })
}

function isNoPlaceholder(value: unknown): boolean {
  return Object(value).kid !== placeholderKid
}

const duplicateKid: Rejection = {
  code: 'duplicate_kid',
  detail: 'Another entry of the set has the same kid: verifiers cannot tell them apart.',
}

function rejectionOf({ kty, use, key_ops, alg }: Jwk): Rejection | undefined {
  if (kty === 'oct') {
    const detail = 'A symmetric key (kty oct) is a secret and cannot verify tokens of others.'
    return { code: 'symmetric_key', detail }
  }
  if (!['RSA', 'EC', 'OKP', 'AKP'].includes(String(kty))) {
    return { code: 'unsupported_key', detail: 'kty must be RSA, EC, OKP or AKP.' }
  }
  const canVerify = !Array.isArray(key_ops) || key_ops.includes('verify')
  if ((use !== undefined && use !== 'sig') || !canVerify) {
    return { code: 'not_for_signatures', detail: 'The key is not for signatures (use, key_ops).' }
  }
  if (alg !== undefined && !isAlgorithm(alg)) {
    const detail = `alg must be one of ${algorithmNames.slice(1).join(', ')}, or absent.`
    return { code: 'unsupported_algorithm', detail }
  }
  return undefined
}

function readKey(jwk: Jwk): EntryContent {
  try {
    const isNormalized = Object.entries(normalizedMembers(jwk)).every(
      ([name, value]) => jwk[name] === value,
    )
    return {
      key: {
        publicKeyPem: toPem(publicKeyOf(jwk)),
        ...(typeof jwk.alg === 'string' ? { algorithm: jwk.alg } : {}),
        ...(typeof jwk.kid === 'string' ? { kid: jwk.kid } : {}),
      },
      ...(isNormalized ? {} : { note: 'Its numbers were normalized (padding or zeros).' }),
    }
  } catch {
    const detail = 'No public key can be read from the members of this entry.'
    return { rejection: { code: 'invalid_jwk', detail } }
  }
}
