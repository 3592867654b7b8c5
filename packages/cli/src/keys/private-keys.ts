import {
  createPrivateKey,
  createPublicKey,
  type JsonWebKeyInput,
  type KeyObject,
} from 'node:crypto'
import type { Jwk } from '@pubring/client'
import { publicKeyOf } from '@pubring/intake/jwk'
import { type JWTHeaderParameters, SignJWT } from 'jose'
import type { Session } from '../connection/session.ts'
import { CommandError, fileError, usageError } from '../terminal/failures.ts'
import { readText, sourceName } from '../terminal/files.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** A JWT. Leaves out claims that are undefined. */
export async function sign(
  key: KeyObject,
  header: JWTHeaderParameters,
  claims: Record<string, unknown>,
): Promise<string> {
  try {
    return await new SignJWT(claims).setProtectedHeader(header).sign(key)
  } catch {
    const hint = 'Choose another one with --algorithm.'
    throw usageError(`This key cannot sign with ${header.alg}.`, hint)
  }
}

/** Throws a usage error if the file, or standard input for `-`, holds no private key that is readable. */
export async function readPrivateKey(file: string, terminal: Terminal): Promise<KeyObject> {
  const text = (await readText(file, terminal)).trim()
  try {
    if (!text.startsWith('{')) return createPrivateKey(text)
    const jwk: JsonWebKeyInput['key'] = JSON.parse(text)
    return createPrivateKey({ key: jwk, format: 'jwk' })
  } catch {
    throw unreadable(text, sourceName(file))
  }
}

function unreadable(text: string, name: string): CommandError {
  if (/ENCRYPTED/.test(text)) {
    return fileError(
      `${name} is encrypted.`,
      'Decrypt it on the fly: openssl pkey -in private.pem | pubring token sample -',
    )
  }
  return fileError(
    `${name} is not a private key in a supported format.`,
    'Supported are PEM (PKCS#8, PKCS#1, SEC 1) and JWK. To convert DER: openssl pkey -in key.der',
  )
}

/** The entry of the project's key set that is the public half of the key. */
export async function findPublished({ client, project }: Session, key: KeyObject): Promise<Jwk> {
  const publicKey = createPublicKey(key)
  const { keys } = await client.jwks.get(project)
  const found = keys.find((jwk) => isKey(jwk, publicKey))
  if (found !== undefined) return found
  const message = `The public half of this key is not in the key set of project ${project}.`
  throw new CommandError('not_found', message, {
    code: 'key_not_found',
    hints: ['Register it with pubring key add, or set the kid of the header with --kid.'],
  })
}

/** False also for a key set entry that this platform cannot read. */
function isKey(jwk: Jwk, publicKey: KeyObject): boolean {
  try {
    return publicKeyOf(jwk).equals(publicKey)
  } catch {
    return false
  }
}
