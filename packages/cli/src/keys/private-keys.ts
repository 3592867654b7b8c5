import {
  createPrivateKey,
  createPublicKey,
  type JsonWebKeyInput,
  type KeyObject,
} from 'node:crypto'
import type { Jwk } from '@pubring/client'
import { publicKeyOf } from '@pubring/intake/jwk'
import { projectCommandLine } from '../connection/command-lines.ts'
import type { Session } from '../connection/session.ts'
import { CommandError, fileError } from '../terminal/failures.ts'
import { readText, sourceName } from '../terminal/files.ts'
import { quoteForShell, type Terminal } from '../terminal/terminal.ts'

/** Throws a usage error if the file, or standard input for `-`, holds no private key that is readable. */
export async function readPrivateKey(file: string, terminal: Terminal): Promise<KeyObject> {
  const text = (await readText(file, terminal)).trim()
  try {
    if (!text.startsWith('{')) return createPrivateKey(text)
    const jwk: JsonWebKeyInput['key'] = JSON.parse(text)
    return createPrivateKey({ key: jwk, format: 'jwk' })
  } catch {
    throw unreadable(text, file)
  }
}

function unreadable(text: string, file: string): CommandError {
  const name = sourceName(file)
  const quoted = file === '-' ? 'private.key' : quoteForShell(file)
  if (/ENCRYPTED/.test(text)) {
    const decrypt = `openssl pkey -in ${quoted} -out decrypted.pem`
    return fileError(`${name} is encrypted.`, `To decrypt it: ${decrypt}`)
  }
  if (/OPENSSH PRIVATE/.test(text)) {
    const convert = `cp ${quoted} converted.pem && ssh-keygen -q -p -N '' -m PKCS8 -f converted.pem`
    return fileError(`${name} has the format of OpenSSH.`, `To convert it: ${convert}`)
  }
  return fileError(
    `${name} is not a private key in a supported format.`,
    `Supported are PEM (PKCS#8, PKCS#1, SEC 1) and JWK. To convert DER: openssl pkey -in ${quoted} -out converted.pem`,
  )
}

/** The entry of the project's key set that is the public half of the key. */
export async function findPublished(
  session: Session,
  key: KeyObject,
  ...hints: string[]
): Promise<Jwk> {
  const { client, project } = session
  const publicKey = createPublicKey(key)
  const { keys } = await client.jwks.get(project)
  const found = keys.find((jwk) => isKey(jwk, publicKey))
  if (found !== undefined) return found
  const message = `The public half of this key is not in the key set of project ${project}.`
  const add = projectCommandLine(session, 'key add', 'public.pem', '--label', 'LABEL')
  throw new CommandError('not_found', message, {
    code: 'key_not_found',
    hints: [...hints, `To register it: ${add}`],
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
