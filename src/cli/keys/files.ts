import { findSecret } from '../../intake/secrets/detector.ts'
import { publicHalfCommand as printPublicHalf } from '../../intake/secrets/public-half.ts'
import { CommandError } from '../terminal/failures.ts'
import { readBytes, sourceName } from '../terminal/files.ts'
import { quoteForShell, type Terminal } from '../terminal/terminal.ts'
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
  const quoted = file === '-' ? 'private.pem' : quoteForShell(file)
  const command = isDer(bytes)
    ? `openssl pkey -in ${quoted} -pubout`
    : printPublicHalf(bytes.toString('utf8'), quoted)
  if (command === undefined) return 'export it with the tool that made the key.'
  return `${command} > ${command.startsWith('ssh-keygen') ? 'key.pub' : 'public.pem'}`
}
