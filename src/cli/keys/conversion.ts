import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { normalizeText } from '../../intake/encoding/text.ts'
import { isSignatureUse, type Jwk, publicKeyOf } from '../../intake/kinds/public-jwk.ts'
import { detectWrongKind } from '../../intake/wrong-kind.ts'
import { present } from '../../runtime/present.ts'
import { CommandError } from '../terminal/failures.ts'
import { readSshKey, sshComment } from './ssh.ts'

/** A public key from a file, as the server takes it. */
export interface PublicKeyFile {
  /** PEM; unchanged if no conversion was needed. */
  publicKeyPem: string
  /** For stderr: what it was converted from. */
  converted?: string
  /** The `alg` of a JWK. */
  algorithm?: string
  /** The comment of an SSH key. */
  comment?: string
}

/** Whether the bytes are DER (or BER) rather than text. */
export function isDer(bytes: Buffer): boolean {
  return bytes[0] === 0x30 && (bytes.includes(0) || bytes.toString('utf8').includes('\uFFFD'))
}

/**
 * Converts a certificate, an SSH key, a JWK or DER to PEM; undefined for any other text. Throws
 * if no public key can be read. The content holds no private key.
 */
export function convertToPem(bytes: Buffer, name: string): PublicKeyFile | undefined {
  if (isDer(bytes)) return convertDer(bytes, name)
  const text = bytes.toString('utf8')
  const found = detectWrongKind(text)
  switch (found?.code) {
    case 'certificate_submitted':
      return convertCertificate(normalizeText(text).text, name)
    case 'ssh_key_submitted': {
      const publicKeyPem = readPem(name, 'an SSH key', () => readSshKey(text))
      const comment = sshComment(text)
      const converted = `${name} is an SSH key; converted to PEM.`
      return { publicKeyPem, converted, ...present({ comment }) }
    }
    case 'jwk_submitted': {
      const value: object = Object(JSON.parse(text.replace(/^\uFEFF/, '')))
      if (!Object.hasOwn(value, 'kty') && !Object.hasOwn(value, 'keys'))
        throw unreadable(`${name}: ${found.detail}`)
      return convertJwk(value, name)
    }
    default:
      return undefined
  }
}

function convertCertificate(content: Buffer | string, name: string): PublicKeyFile {
  const publicKeyPem = readPem(name, 'a certificate', () => new X509Certificate(content).publicKey)
  const count = String(content).match(/-----BEGIN [A-Z0-9 ]*CERTIFICATE-----/g)?.length ?? 1
  const taken =
    count > 1 ? ` chain of ${count}; took the first public key` : '; took its public key'
  return { publicKeyPem, converted: `${name} is a certificate${taken}.` }
}

/** SPKI, PKCS#1 or a certificate. */
function convertDer(der: Buffer, name: string): PublicKeyFile {
  for (const type of ['spki', 'pkcs1'] as const) {
    try {
      const publicKeyPem = toPem(createPublicKey({ key: der, format: 'der', type }))
      return { publicKeyPem, converted: `${name} is DER; converted to PEM.` }
    } catch {
      // Try the next form.
    }
  }
  return convertCertificate(der, name)
}

function convertJwk(value: object, name: string): PublicKeyFile {
  const jwk = onlyKey(value, name)
  if (!isSignatureUse(jwk.use)) {
    throw unreadable(`${name} is a JWK that does not verify tokens: its “use” is not “sig”.`)
  }
  const publicKeyPem = readPem(name, 'a JWK', () => publicKeyOf(jwk))
  const algorithm = typeof jwk.alg === 'string' ? { algorithm: jwk.alg } : {}
  return { publicKeyPem, converted: `${name} is a JWK; converted to PEM.`, ...algorithm }
}

/** The JWK itself, or the only one of a set. */
function onlyKey(value: unknown, name: string): Jwk {
  const { keys } = Object(value)
  if (!Array.isArray(keys)) return Object(value)
  if (keys.length === 1) return Object(keys[0])
  throw new CommandError('file', `${name} is a set of ${keys.length} keys; expected one key.`, {
    hints: ['To register a whole set, use pubring import.'],
  })
}

function readPem(name: string, kind: string, read: () => KeyObject): string {
  try {
    return toPem(read())
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw unreadable(`${name} looks like ${kind}, but no public key can be read from it.`)
  }
}

function unreadable(message: string): CommandError {
  return new CommandError('refused', message, {
    code: 'invalid_key_file',
    hints: ['Provide the public key as PEM: openssl pkey -in private.pem -pubout'],
  })
}

export function toPem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString()
}
