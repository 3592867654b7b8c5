import { commands } from './commands.ts'
import { contentOfBlock, conversionOf } from './formats/content.ts'
import { describeJson } from './formats/json.ts'
import { readServiceText } from './formats/service-text.ts'
import { describeSsh } from './formats/ssh.ts'
import type { Fault } from './types.ts'

const pemLabel = /-----BEGIN ([A-Z0-9][A-Z0-9 ]*)-----/g

/**
 * Detects a public key in a format that the intake does not take, and explains how to convert it. The text
 * must not contain a private key.
 */
export function detectWrongKind(text: string): Fault | undefined {
  const body = text.replace(/^\uFEFF/, '').trim()
  const service = readServiceText(body)
  if (service !== undefined) return 'code' in service ? service : undefined
  const json = describeJson(body)
  if (json !== undefined) return { code: 'jwk_submitted', detail: json }
  const ssh = describeSsh(text)
  return ssh === undefined
    ? detectArmor(body, isLaidOut.test(text))
    : { code: 'ssh_key_submitted', detail: ssh }
}

/** A text whose first block openssl can read. */
const isLaidOut =
  /^(?:[^-]*\n)?-----BEGIN [A-Z0-9 ]+-----\r?\n(?:[A-Za-z0-9+/=]+\r?\n)+-----END [A-Z0-9 ]+-----\s*(?:$|\n)/

function detectArmor(body: string, isReadable: boolean): Fault | undefined {
  if (/-----BEGIN PGP /.test(body)) {
    const detail = `This is a PGP key, which cannot sign JWTs. Generate a key pair for JWTs: ${commands.generateRsa}`
    return { code: 'pgp_key_submitted', detail }
  }
  const labels = [...body.matchAll(pemLabel)].map(([, name]) => name ?? '')
  if (labels.length === 0) return undefined
  const [label] = labels
  // The reader of PEM says what a block with a wrong label contains.
  const content = contentOfBlock(body)
  if (labels.length === 1 && content !== undefined && !label?.endsWith(content)) return undefined
  const areAll = (label: RegExp) => labels.every((name) => label.test(name))
  const isRequest = areAll(/(?:^| )CERTIFICATE REQUEST$/)
  if (!isRequest && !areAll(/^(?!.*ATTRIBUTE)(?:.* )?CERTIFICATE$/)) return undefined
  const [kind, file, readable] = isRequest
    ? (['CERTIFICATE REQUEST', 'request.pem', commands.convertRequest] as const)
    : (['CERTIFICATE', 'cert.pem', commands.convertCertificate] as const)
  const convert = isReadable ? readable : conversionOf(kind, commands.decodePem(file))
  const detail =
    labels.length > 1 && !isRequest
      ? `This is a chain of ${labels.length} certificates. To send the public key of the first: ${convert}`
      : `This is a ${kind.toLowerCase()}. Send its public key: ${convert}`
  return { code: isRequest ? 'csr_submitted' : 'certificate_submitted', detail }
}
