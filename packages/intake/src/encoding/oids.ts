/** Object identifiers of the supported algorithms. */
export const oid = {
  rsaEncryption: '1.2.840.113549.1.1.1',
  mgf1: '1.2.840.113549.1.1.8',
  rsassaPss: '1.2.840.113549.1.1.10',
  ecPublicKey: '1.2.840.10045.2.1',
  ed25519: '1.3.101.112',
  mlDsa44: '2.16.840.1.101.3.4.3.17',
  mlDsa65: '2.16.840.1.101.3.4.3.18',
  mlDsa87: '2.16.840.1.101.3.4.3.19',
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
} as const

/** Keys for key agreement and encryption, which cannot sign (RFC 8410, FIPS 203). */
export const agreementOids: ReadonlyMap<string, string> = new Map([
  ['1.3.101.110', 'X25519'],
  ['1.3.101.111', 'X448'],
  ['2.16.840.1.101.3.4.4.1', 'ML-KEM-512'],
  ['2.16.840.1.101.3.4.4.2', 'ML-KEM-768'],
  ['2.16.840.1.101.3.4.4.3', 'ML-KEM-1024'],
])

const unsupportedOids: ReadonlyMap<string, string> = new Map([
  ['1.2.840.10040.4.1', 'DSA'],
  ['1.3.14.3.2.12', 'DSA'],
  ['1.2.840.113549.1.3.1', 'DH'],
  ['1.2.840.10046.2.1', 'X9.42 DH'],
  ['1.2.840.113549.1.1.7', 'RSAES-OAEP'],
  ['2.5.8.1.1', 'X.500 RSA'],
  ['1.3.132.1.12', 'ECDH-only (id-ecDH)'],
  ['1.3.132.1.13', 'ECMQV-only (id-ecMQV)'],
  ['1.3.101.113', 'Ed448'],
  ['1.2.156.10197.1.301', 'SM2'],
  ['2.16.840.1.101.2.1.1.22', 'KEA'],
  ['1.2.840.113549.1.9.16.3.17', 'HSS/LMS'],
  ['1.3.6.1.5.5.7.6.34', 'XMSS'],
  ['1.3.6.1.5.5.7.6.35', 'XMSS-MT'],
])

const unsupportedFamilies: readonly { prefix: string; name: string }[] = [
  { prefix: '1.2.840.113549.1.1.', name: 'RSA signature identifier' },
  { prefix: '1.2.840.10045.4.', name: 'ECDSA signature identifier' },
  { prefix: '1.2.643.', name: 'GOST' },
  { prefix: '1.2.804.2.1.1.1.1.3.', name: 'DSTU 4145' },
  { prefix: '1.3.9999.', name: 'experimental post-quantum' },
  { prefix: '2.16.840.1.114027.80.', name: 'composite' },
]

/** NIST's arc of signature algorithms: 32 to 34 are HashML-DSA, 20 to 31 and 35 to 46 SLH-DSA. */
const nistSignatures = '2.16.840.1.101.3.4.3.'

/** The name of an unsupported key type, or its dotted identifier. */
export function nameOfUnsupported(dotted: string): string {
  const known = unsupportedOids.get(dotted)
  if (known !== undefined) return known
  if (dotted.startsWith(nistSignatures)) {
    const arc = Number(dotted.slice(nistSignatures.length))
    if (arc >= 32 && arc <= 34) return 'HashML-DSA'
    if (arc >= 20 && arc <= 46) return 'SLH-DSA'
  }
  const family = unsupportedFamilies.find(({ prefix }) => dotted.startsWith(prefix))
  return family?.name ?? (dotted.length <= 64 ? dotted : 'unknown')
}

/** Unsupported curves that people generate keys on. */
const curveNames: ReadonlyMap<string, string> = new Map([
  ['1.2.840.10045.3.1.1', 'P-192'],
  ['1.3.132.0.33', 'P-224'],
  ['1.3.132.0.10', 'secp256k1'],
  ['1.3.36.3.3.2.8.1.1.7', 'brainpoolP256r1'],
  ['1.3.36.3.3.2.8.1.1.11', 'brainpoolP384r1'],
  ['1.3.36.3.3.2.8.1.1.13', 'brainpoolP512r1'],
  ['1.2.156.10197.1.301', 'SM2'],
])

/** The name of an unsupported curve, or its dotted identifier. */
export function nameOfCurve(dotted: string): string {
  return curveNames.get(dotted) ?? (dotted.length <= 64 ? dotted : 'unknown')
}
