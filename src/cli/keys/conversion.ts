import { createPublicKey, type JsonWebKeyInput, type KeyObject, X509Certificate } from 'node:crypto'
import { detectWrongKind } from '../../intake/wrong-kind.ts'
import { CommandError } from '../terminal/failures.ts'
import { readSshKey } from './ssh.ts'

/** A public key from a file, as the server takes it. */
export interface PublicKeyFile {
  /** PEM; where nothing had to be converted, as it stands in the file. */
  publicKeyPem: string
  /** What it was converted from: to be said on stderr. */
  converted?: string
  /** What a JWK says of its algorithm. */
  algorithm?: string
  /** What a JWK says of its `kid`. */
  kid?: string
}

const convertible = ['certificate_submitted', 'ssh_key_submitted', 'jwk_submitted'] as const

/** Whether the file is one of those that become PEM here; it holds no private key. */
export function isConvertible(text: string, binary: boolean): boolean {
  const code = detectWrongKind(text)?.code
  return binary || convertible.some((one) => one === code)
}

/** The public key of a certificate, an SSH key, a JWK or DER as PEM. Throws where there is none. */
export function toPem(content: Buffer | string, name: string): PublicKeyFile {
  if (typeof content !== 'string') return fromDer(content, name)
  const code = detectWrongKind(content)?.code
  if (code === 'certificate_submitted') return fromCertificate(content, name)
  if (code === 'ssh_key_submitted') {
    const key = reading(name, 'an SSH key', () => readSshKey(content))
    return { publicKeyPem: pemOf(key), converted: `${name} is an SSH key; converted to PEM.` }
  }
  return fromJwk(content, name)
}

function fromCertificate(content: string | Buffer, name: string): PublicKeyFile {
  const key = reading(name, 'a certificate', () => new X509Certificate(content).publicKey)
  const number = String(content).match(/-----BEGIN [A-Z0-9 ]*CERTIFICATE-----/g)?.length ?? 1
  const which = number > 1 ? ` chain of ${number}; took the public key of the first` : ''
  const converted = `${name} is a certificate${which || '; took its public key'}.`
  return { publicKeyPem: pemOf(key), converted }
}

/** SPKI, PKCS#1 or a certificate. */
function fromDer(der: Buffer, name: string): PublicKeyFile {
  for (const type of ['spki', 'pkcs1'] as const) {
    try {
      const publicKeyPem = pemOf(createPublicKey({ key: der, format: 'der', type }))
      return { publicKeyPem, converted: `${name} is DER; converted to PEM.` }
    } catch {
      // The next form may fit.
    }
  }
  return fromCertificate(der, name)
}

function fromJwk(text: string, name: string): PublicKeyFile {
  const jwk = onlyKey(JSON.parse(text.replace(/^\uFEFF/, '')), name)
  if (jwk.use !== undefined && jwk.use !== 'sig') {
    throw unreadable(`${name} is a JWK for another use (“use”: not “sig”): it verifies no token.`)
  }
  const key = reading(name, 'a JWK', () => createPublicKey({ key: jwk, format: 'jwk' }))
  return {
    publicKeyPem: pemOf(key),
    converted: `${name} is a JWK; converted to PEM.`,
    ...(typeof jwk.alg === 'string' ? { algorithm: jwk.alg } : {}),
    ...(typeof jwk.kid === 'string' ? { kid: jwk.kid } : {}),
  }
}

/** The key itself, or the only one of a set. */
function onlyKey(value: unknown, name: string): JsonWebKeyInput['key'] & { kid?: unknown } {
  const { keys } = Object(value)
  if (!Array.isArray(keys)) return Object(value)
  if (keys.length === 1) return Object(keys[0])
  throw new CommandError('usage', `${name} is a set of ${keys.length} keys; one is wanted.`, {
    hints: ['pubring import takes whole sets.'],
  })
}

function reading<Key>(name: string, what: string, read: () => Key): Key {
  try {
    return read()
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw unreadable(`${name} looks like ${what}, but no public key can be read from it.`)
  }
}

function unreadable(message: string): CommandError {
  return new CommandError('refused', message, {
    code: 'invalid_key_file',
    hints: ['Give the public key as PEM: openssl pkey -in private.pem -pubout'],
  })
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString()
}
