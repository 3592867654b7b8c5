import { findSecret } from '../../intake/secrets/detector.ts'
import { parseJson } from '../../runtime/json.ts'
import { CommandError } from '../terminal/failures.ts'
import { readBytes, sourceName } from '../terminal/files.ts'
import { quoteForShell } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { convertToPem, isDer, type PublicKeyFile } from './conversion.ts'

/**
 * Reads a public key from a file or, for `-`, from standard input. A certificate, an SSH key, a JWK
 * and DER become PEM; any other text is left for the intake to judge. Throws for a private key in
 * any form, so that nothing of it leaves the machine.
 */
export async function readPublicKeyFile(file: string, terminal: Terminal): Promise<PublicKeyFile> {
  const bytes = await readBytes(file, terminal)
  const text = bytes.toString('utf8')
  // The detector reads text: it finds private keys in DER by their base64.
  if (findSecret(isDer(bytes) ? bytes.toString('base64') : text) !== undefined) {
    throw privateKeyFile(file, bytes)
  }
  return convertToPem(bytes, sourceName(file)) ?? { publicKeyPem: text }
}

function privateKeyFile(file: string, bytes: Buffer): CommandError {
  const message = `${sourceName(file)} holds a private key. It was not sent: it has not left this machine.`
  return new CommandError('refused', message, {
    code: 'private_key',
    hints: [`Use its public half: ${publicHalfCommand(file, bytes)}`],
  })
}

/** The command that writes the public half of the private key, or how to get it without one. */
function publicHalfCommand(file: string, bytes: Buffer): string {
  const text = bytes.toString('utf8')
  const quoted = file === '-' ? 'private.pem' : quoteForShell(file)
  if (/^-----BEGIN OPENSSH PRIVATE KEY-----/.test(text)) {
    return `ssh-keygen -y -f ${quoted} > key.pub`
  }
  const jwk = jwkPath(text)
  if (jwk !== undefined) {
    return `node -p "crypto.createPublicKey({key: JSON.parse(fs.readFileSync(process.argv[1]))${jwk}, format: 'jwk'}).export({type: 'spki', format: 'pem'})" ${quoted} > public.pem`
  }
  const isPem = /^-----BEGIN (?:RSA |EC |ENCRYPTED )?PRIVATE KEY-----/m.test(text)
  if (isPem || isDer(bytes)) return `openssl pkey -in ${quoted} -pubout -out public.pem`
  return 'export it with the tool that made the key.'
}

/** Where the JWK is in the JSON of a file: the only one of a set, or the document itself. */
function jwkPath(text: string): string | undefined {
  const { kty, keys } = Object(parseJson(text))
  if (typeof kty === 'string') return ''
  return Array.isArray(keys) && keys.length === 1 ? '.keys[0]' : undefined
}
