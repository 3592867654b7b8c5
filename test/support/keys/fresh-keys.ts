import { execFileSync } from 'node:child_process'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'

export const freshKinds = [
  'RSA-2048',
  'RSA-3072',
  'RSA-4096',
  'P-256',
  'P-384',
  'P-521',
  'Ed25519',
  'ML-DSA-44',
  'ML-DSA-65',
  'ML-DSA-87',
] as const

export type FreshKind = (typeof freshKinds)[number]

function generate(kind: FreshKind): KeyObject {
  switch (kind) {
    case 'RSA-2048':
    case 'RSA-3072':
    case 'RSA-4096':
      return generateKeyPairSync('rsa', { modulusLength: Number(kind.slice(4)) }).publicKey
    case 'P-256':
    case 'P-384':
    case 'P-521':
      return generateKeyPairSync('ec', { namedCurve: kind }).publicKey
    case 'Ed25519':
      return generateKeyPairSync('ed25519').publicKey
    case 'ML-DSA-44':
      return generateKeyPairSync('ml-dsa-44').publicKey
    case 'ML-DSA-65':
      return generateKeyPairSync('ml-dsa-65').publicKey
    case 'ML-DSA-87':
      return generateKeyPairSync('ml-dsa-87').publicKey
  }
}

/** The PEM of a new public key, made by the platform. */
export function freshPem(kind: FreshKind): string {
  return generate(kind).export({ type: 'spki', format: 'pem' }).toString()
}

const opensslOptions: Partial<Record<FreshKind, string[]>> = {
  'RSA-2048': ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048'],
  'RSA-3072': ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:3072'],
  'RSA-4096': ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:4096'],
  'P-256': ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  'P-384': ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-384'],
  'P-521': ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-521'],
  Ed25519: ['-algorithm', 'ed25519'],
}

/** The kinds that the openssl command makes in every version. */
export const opensslKinds = freshKinds.filter((kind) => opensslOptions[kind] !== undefined)

/** The PEM of a new public key, made by the openssl command. */
export function opensslPem(kind: FreshKind): string {
  const quiet = { stdio: ['pipe', 'pipe', 'ignore'] } as const
  const secret = execFileSync('openssl', ['genpkey', ...(opensslOptions[kind] ?? [])], {
    stdio: [...quiet.stdio],
  })
  return execFileSync('openssl', ['pkey', '-pubout'], { input: secret }).toString()
}

export function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'])
    return true
  } catch {
    return false
  }
}
