import { type Algorithm, algorithmNames } from '../../contract/algorithms.ts'
import { findSecret } from '../../intake/secrets/detector.ts'
import { didYouMean } from '../../nearest.ts'
import { CommandError, usageError } from '../terminal/failures.ts'
import { readBytes, sourceName } from '../terminal/files.ts'
import { quoteForShell } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { isConvertible, type PublicKeyFile, toPem } from './conversion.ts'

/**
 * Reads a public key from a file, or from standard input where that is `-`. A certificate, an SSH key,
 * a JWK and DER become PEM; every other text is left as it is, for the intake to judge. A private key
 * is refused here, in whatever form: nothing of it goes anywhere.
 */
export async function readPublicKeyFile(file: string, terminal: Terminal): Promise<PublicKeyFile> {
  const octets = await readBytes(file, terminal)
  const text = octets.toString('utf8')
  const binary = octets[0] === 0x30 && !isText(octets)
  // In base64 the same look finds what is private in DER.
  if (findSecret(binary ? octets.toString('base64') : text) !== undefined) {
    throw privateKeyFile(file, text)
  }
  if (!isConvertible(text, binary)) return { publicKeyPem: text }
  return toPem(binary ? octets : text, sourceName(file))
}

function isText(octets: Buffer): boolean {
  return !octets.includes(0) && octets.toString('utf8').indexOf('\uFFFD') < 0
}

function privateKeyFile(file: string, text: string): CommandError {
  const what = `${sourceName(file)} holds a private key. It was not sent: it has not left this machine.`
  return new CommandError('refused', what, {
    code: 'private_key',
    hints: [`Give its public half: ${publicHalfCommand(file, text)}`],
  })
}

/** The command that writes the public half of the private key. */
function publicHalfCommand(file: string, text: string): string {
  const quoted = file === '-' ? 'private.pem' : quoteForShell(file)
  if (/OPENSSH PRIVATE KEY|PuTTY/.test(text)) return `ssh-keygen -y -f ${quoted} > key.pub`
  if (/^\s*[{[]/.test(text)) {
    return `node -p "crypto.createPublicKey({key: JSON.parse(fs.readFileSync(process.argv[1])), format: 'jwk'}).export({type: 'spki', format: 'pem'})" ${quoted} > public.pem`
  }
  return `openssl pkey -in ${quoted} -pubout -out public.pem`
}

/** The algorithm by its name. Throws a usage error that says which was perhaps meant. */
export function readAlgorithm(name: string | undefined): Algorithm | undefined {
  if (name === undefined) return undefined
  const found = algorithmNames.find((algorithm) => algorithm === name)
  if (found !== undefined) return found
  const near = didYouMean(name, algorithmNames)
  throw usageError(`--algorithm must be one of ${algorithmNames.join(', ')}${near}`)
}
