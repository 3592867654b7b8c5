import type { JwtKeyWithDetails } from '@pubring/client'
import { base64OfPem, decodeBase64, encodeBase64, keyOfPem, rsaNumbers } from './der.ts'
import { sshCurves } from './spki.ts'

export type KeyForm = { name: string; text: string; fileName: string }

/** All forms of a key, DER in base64; OpenSSH has none for ML-DSA. */
export function formsOf(key: JwtKeyWithDetails): KeyForm[] {
  const { id, publicKeyPem, details } = key
  const kid = details.publishedKid ?? id
  const members = jwkMembers(key)
  const ssh = openSshKey(members)
  const jwk = { kty: details.kty, use: 'sig', kid, ...members, alg: details.jwsAlgorithm }
  return [
    { name: 'PEM', text: publicKeyPem, fileName: `${id}.pem` },
    { name: 'JWK', text: `${JSON.stringify(jwk, null, 2)}\n`, fileName: `${id}.jwk.json` },
    ...(ssh === undefined
      ? []
      : [{ name: 'OpenSSH', text: `${ssh} ${kid}\n`, fileName: `${id}.pub` }]),
    { name: 'DER', text: `${base64OfPem(publicKeyPem)}\n`, fileName: `${id}.der.txt` },
  ]
}

type JwkMembers = { n?: string; e?: string; crv?: string; x?: string; y?: string; pub?: string }

/** The members of the JWK that hold the key (RFC 7518 section 6, RFC 8037, RFC 9964). */
function jwkMembers({ publicKeyPem, details: { kty, crv } }: JwtKeyWithDetails): JwkMembers {
  const key = keyOfPem(publicKeyPem)
  const numbers = key && kty === 'RSA' ? rsaNumbers(key) : []
  if (key === undefined || numbers === undefined) throw new Error('The key is damaged.')
  const [modulus, exponent] = numbers
  if (modulus && exponent) return { n: base64url(modulus), e: base64url(exponent) }
  if (kty === 'EC' && crv !== undefined) {
    // An uncompressed point: 4, then the coordinates.
    const middle = 1 + (key.length - 1) / 2
    return { crv, x: base64url(key.subarray(1, middle)), y: base64url(key.subarray(middle)) }
  }
  if (kty === 'OKP' && crv !== undefined) return { crv, x: base64url(key) }
  return { pub: base64url(key) }
}

const base64url = (bytes: Uint8Array) =>
  encodeBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')

/** The type and blob of an OpenSSH public key (RFC 4253 section 6.6, RFC 5656, RFC 8709). */
function openSshKey({ n, e, crv, x, y }: JwkMembers): string | undefined {
  const text = (value: string) => new TextEncoder().encode(value)
  const bytes = (value = '') => decodeBase64(value) ?? new Uint8Array()
  if (n !== undefined) return sshLine('ssh-rsa', mpint(bytes(e)), mpint(bytes(n)))
  if (crv === 'Ed25519') return sshLine('ssh-ed25519', bytes(x))
  const curve = Object.entries(sshCurves).find(([, name]) => name === crv)?.[0]
  if (curve === undefined) return undefined
  return sshLine(`ecdsa-sha2-${curve}`, text(curve), Uint8Array.of(4, ...bytes(x), ...bytes(y)))
}

/** A positive number; a leading zero keeps its first bit from being a sign. */
const mpint = (bytes: Uint8Array) => ((bytes[0] ?? 0) < 0x80 ? bytes : Uint8Array.of(0, ...bytes))

function sshLine(type: string, ...strings: Uint8Array[]): string {
  const blob = [new TextEncoder().encode(type), ...strings].flatMap((string) => {
    const length = new Uint8Array(4)
    new DataView(length.buffer).setUint32(0, string.length)
    return [...length, ...string]
  })
  return `${type} ${encodeBase64(Uint8Array.from(blob))}`
}
