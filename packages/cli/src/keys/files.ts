import {
  contentOf,
  describeKeyStore,
  detectWrongKind,
  indirectContent,
  isJwk,
  publicKeyInCertificate,
  readSshKey,
  type SshKey,
} from '@pubring/intake'
import { isAlgorithm } from '@pubring/intake/algorithms'
import { checkCharacters, normalizeText, writePem } from '@pubring/intake/encoding'
import { type Jwk, publicKeyOf } from '@pubring/intake/jwk'
import { readServiceKeys, type ServiceKey } from '@pubring/intake/key-service'
import { findSecret, publicHalfCommand as printPublicHalf } from '@pubring/intake/secrets'
import { parseJson } from '@pubring/server/runtime/json'
import { present } from '@pubring/server/runtime/present'
import { CommandError } from '../terminal/failures.ts'
import { readBytes, sourceName } from '../terminal/files.ts'
import { quoteForShell, type Terminal } from '../terminal/terminal.ts'
import { type PublicKeyFile, readJwk, refused } from './jwk.ts'

/** More than a key has in any form; to search a longer text for private keys takes seconds. */
const maxKeyFileBytes = 1024 * 1024

/**
 * Reads a public key from a file or, for `-`, from standard input. A certificate, an SSH key, a JWK
 * and DER become PEM; any other text is left for the intake to judge. Throws for a private key in
 * any form, so that nothing of it leaves the machine.
 */
export async function readPublicKeyFile(file: string, terminal: Terminal): Promise<PublicKeyFile> {
  const bytes = await readBytes(file, terminal, maxKeyFileBytes)
  const text = bytes.toString('utf8')
  // The detector reads text: it finds private keys in DER by their base64.
  if (findSecret(isDer(bytes) ? bytes.toString('base64') : text) !== undefined) {
    throw privateKeyFile(file, bytes)
  }
  return convertToPem(bytes, sourceName(file)) ?? { publicKeyPem: text }
}

/** The error for a file with a private key, which says how to get its public half. */
export function privateKeyFile(file: string, bytes: Buffer): CommandError {
  const message = `${sourceName(file)} holds a private key. It was not sent: it has not left this machine.`
  const store = describeKeyStore(bytes.toString('utf8'))
  return new CommandError('refused', message, {
    code: 'private_key',
    hints: [store ?? `Use its public half: ${publicHalfCommand(file, bytes)}`],
  })
}

/** The command that writes the public half of the private key, or how to get it without one. */
function publicHalfCommand(file: string, bytes: Buffer): string {
  const quoted = file === '-' ? 'private.pem' : quoteForShell(file)
  const command = isDer(bytes)
    ? `openssl pkey -in ${quoted} -pubout`
    : printPublicHalf(bytes.toString('utf8'), quoted)
  if (command === undefined) {
    return 'export it with the tool that made the key. A symmetric key has none.'
  }
  return `${command} > ${command.includes('ssh-keygen') ? 'key.pub' : 'public.pem'}`
}

/** Whether the bytes are DER (or BER) rather than text. */
export function isDer(bytes: Buffer): boolean {
  return bytes[0] === 0x30 && (bytes.includes(0) || bytes.toString('utf8').includes('\uFFFD'))
}

/**
 * Converts a certificate, an SSH key, a JWK, the JSON of a key management service or DER to PEM;
 * undefined for any other text. Throws if no public key can be read, and for bytes that are no text: nothing
 * says whether they hold a private key.
 */
export function convertToPem(bytes: Buffer, name: string): PublicKeyFile | undefined {
  if (isDer(bytes)) return convertDer(bytes, name)
  const text = bytes.toString('utf8')
  const service = readServiceKeys(parseJson(text.trim()))
  const [key, ...older] = service?.keys ?? []
  if (key !== undefined && service?.fault === undefined) {
    const file = readServiceKey(key)
    const of =
      older.length === 0
        ? '.'
        : ` with ${older.length + 1} versions; took the newest, ${key.version}. To register all, use pubring import.`
    return {
      ...file,
      converted: [`${name} is ${service?.name}${of}`, file.note].filter(Boolean).join(' '),
    }
  }
  const found = detectWrongKind(text)
  switch (found?.code) {
    case 'certificate_submitted':
      return convertCertificate(normalizeText(text).text, name)
    case 'ssh_key_submitted': {
      const key = readSshKey(text)
      if (key === undefined || !found.detail.includes('Convert it:')) throw refused(found)
      const publicKeyPem = readPem(name, 'an SSH key', () => pemOf(sshJwk(key)))
      const comment = sshComment(text)
      const converted = `${name} is an SSH key; converted to PEM.`
      return { publicKeyPem, converted, ...present({ comment }) }
    }
    case 'jwk_submitted': {
      const value: object = Object(JSON.parse(text.trim()))
      const jwk = onlyKey(value, name)
      if (jwk === undefined) throw refused(found)
      const key = readJwk(jwk)
      const said = [`${name} is a JWK; converted to PEM.`, key.note].filter(Boolean).join(' ')
      return { ...key, converted: said }
    }
    default: {
      const [fault] = checkCharacters(text)
      if (fault !== undefined) throw refused(fault)
      return undefined
    }
  }
}

/** A key of a key management service. Throws an error that says which member of a JWK is at fault. */
export function readServiceKey(key: ServiceKey): PublicKeyFile {
  if ('jwk' in key) return readJwk(key.jwk)
  return {
    publicKeyPem: key.pem,
    ...present({ algorithm: isAlgorithm(key.alg) ? key.alg : undefined }),
  }
}

function convertCertificate(content: Buffer | string, name: string): PublicKeyFile {
  const publicKeyPem = readPem(name, 'a certificate', () =>
    writePem(publicKeyInCertificate(content)),
  )
  const count = String(content).match(/-----BEGIN [A-Z0-9 ]*CERTIFICATE-----/g)?.length ?? 1
  const taken =
    count > 1 ? ` chain of ${count}; took the first public key` : '; took its public key'
  return { publicKeyPem, converted: `${name} is a certificate${taken}.` }
}

/** SPKI, PKCS#1 or a certificate. The intake judges a key byte by byte, as in PEM. */
function convertDer(der: Buffer, name: string): PublicKeyFile {
  const found =
    indirectContent(der, `cat ${quoteForShell(name)}`) ?? describeKeyStore(der.toString('utf8'))
  if (found !== undefined) throw refused({ code: 'invalid_key_file', detail: found })
  const content = contentOf(der)
  if (content !== 'PUBLIC KEY' && content !== 'RSA PUBLIC KEY') return convertCertificate(der, name)
  return { publicKeyPem: writePem(der, content), converted: `${name} is DER; converted to PEM.` }
}

/** The JWK itself, or the only one of a set; undefined for another document. */
function onlyKey(value: object, name: string): Jwk | undefined {
  const { keys } = Object(value)
  if (!Array.isArray(keys)) return isJwk(value) ? value : undefined
  if (keys.length === 1) return isJwk(keys[0]) ? keys[0] : undefined
  throw new CommandError('file', `${name} is a set of ${keys.length} keys; expected one key.`, {
    hints: ['To register a whole set, use pubring import.'],
  })
}

function readPem(name: string, kind: string, read: () => string): string {
  try {
    return read()
  } catch {
    const message = `${name} looks like ${kind}, but no public key can be read from it.`
    throw new CommandError('refused', message, {
      code: 'invalid_key_file',
      hints: ['Provide the public key as PEM: openssl pkey -in private.pem -pubout'],
    })
  }
}

function pemOf(jwk: Jwk): string {
  return publicKeyOf(jwk).export({ type: 'spki', format: 'pem' }).toString()
}

/** The text behind the key in its line, or the header Comment of a block. */
function sshComment(text: string): string | undefined {
  const [, behind, header] = /(?<![\w+/])AAAA[\w+/]+=*[\t ]+(\S.*)|^Comment:(.*)/m.exec(text) ?? []
  return (behind ?? header?.trim().replace(/^"|"$/g, ''))?.trim() || undefined
}

/** The JWK of an SSH key. Throws for a compressed point. */
function sshJwk({ type, fields }: SshKey): Jwk {
  const [first, second] = fields.map((field) => Buffer.from(field).toString('base64url'))
  if (type === 'ssh-rsa') return { kty: 'RSA', e: first, n: second }
  if (type === 'ssh-ed25519') return { kty: 'OKP', crv: 'Ed25519', x: first }
  const [curve, point = Buffer.of()] = fields.map((field) => Buffer.from(field))
  const middle = (point.length + 1) / 2
  if (point[0] !== 4) throw new Error('a compressed point')
  const [x, y] = [point.subarray(1, middle), point.subarray(middle)].map((coordinate) =>
    coordinate.toString('base64url'),
  )
  return { kty: 'EC', crv: String(curve).replace('nistp', 'P-'), x, y }
}
