import { commands } from './commands.ts'
import type { Fault } from './types.ts'

const sshKey =
  /(?:^|[\s"'])(?:ssh-(?:rsa|dss|ed25519|ed448)|ecdsa-sha2-\S{1,40}|sk-\S{1,60}|ssh-\S{1,40}-cert-v\d\d@openssh\.com|ssh-xmss@openssh\.com)[ \t]+AAAA/
const sshStart =
  /^(?:ssh-(?:rsa|dss|ed25519|ed448)|ecdsa-sha2-\S{1,60}|sk-\S{1,60}|ssh-\S{1,60}@openssh\.com)[ \t]/
/** base64 of an SSH key: the length of a name of at most 255 letters, then the name. */
const sshBlob = /^AAAA[A-Z][A-Za-z0-9+/]{10,}/
const sshNames = ['ssh-', 'ecdsa-sha2-', 'sk-']
const sshBlock = /-{4,5} ?BEGIN (?:OPEN)?SSH2? (?:ENCRYPTED )?(?:PUBLIC )?(?:KEY|CERTIFICATE)/
/** ssh-keygen cannot write Ed25519 keys as PEM, so this puts an SPKI header before the 32 bytes. */
const convertEd25519 =
  "(echo MCowBQYDK2VwAyEA | base64 -d; cut -d' ' -f2 key.pub | base64 -d | tail -c 32) | openssl pkey -pubin -inform DER -pubout"
const pemLabel = /-----BEGIN ([A-Z0-9][A-Z0-9 ]*)-----/g

/**
 * Detects a public key in a format other than PEM and explains how to convert it. The text must not
 * contain a private key.
 */
export function detectWrongKind(text: string): Fault | undefined {
  const body = text.replace(/^\uFEFF/, '').trim()
  return detectJson(body) ?? detectSsh(body) ?? detectArmor(body)
}

function detectJson(body: string): Fault | undefined {
  const value = parseJson(body)
  if (value === undefined) return undefined
  const isJwk = /"(?:kty|keys)\\?"\s*:/.test(JSON.stringify(value))
  const found = isJwk ? 'This is a JWK' : 'This is a JSON document'
  const detail = `${found}. Send the key in PEM (BEGIN PUBLIC KEY), as a string. To convert it: node -p "crypto.createPublicKey({key: JSON.parse(fs.readFileSync('key.jwk')), format: 'jwk'}).export({type: 'spki', format: 'pem'})"`
  return { code: 'jwk_submitted', detail }
}

/** The JSON object or array in a text, even if it is encoded as a JSON string once or twice more. */
function parseJson(body: string): unknown {
  let text = body
  for (let depth = 0; depth < 3 && /^["{[]/.test(text); depth += 1) {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return undefined
    }
    if (typeof value !== 'string') return value
    text = value.trim()
  }
  return undefined
}

function detectSsh(body: string): Fault | undefined {
  const unquoted = body.replace(/^["']/, '')
  const isBlock = sshBlock.test(body)
  if (!isBlock && !sshStart.test(unquoted) && !sshKey.test(body) && !isSshBlob(unquoted)) {
    return undefined
  }
  const isEd25519 = /ssh-ed25519|AAAAC3NzaC1lZDI1NTE5/.test(body)
  const command = isEd25519 ? convertEd25519 : 'ssh-keygen -e -m PKCS8 -f key.pub'
  const steps = isBlock
    ? `First convert the block to one line: ssh-keygen -i -f block.pub > key.pub. Then convert it: ${command}`
    : `Convert it: ${command}`
  return { code: 'ssh_key_submitted', detail: `This is an SSH key. ${steps}` }
}

function isSshBlob(body: string): boolean {
  if (!sshBlob.test(body)) return false
  const name = Buffer.from(body.slice(0, 64), 'base64').subarray(4).toString('latin1')
  return sshNames.some((start) => name.startsWith(start))
}

function detectArmor(body: string): Fault | undefined {
  if (/-----BEGIN PGP /.test(body)) {
    const detail = `This is a PGP key, which cannot sign JWTs. Generate a key pair for JWTs: ${commands.generateRsa}`
    return { code: 'pgp_key_submitted', detail }
  }
  const labels = [...body.matchAll(pemLabel)].map(([, name]) => name ?? '')
  if (labels.length === 0) return undefined
  if (labels.every((name) => /(?:^| )CERTIFICATE$/.test(name) && !/ATTRIBUTE/.test(name))) {
    const found = labels.length > 1 ? `a chain of ${labels.length} certificates` : 'a certificate'
    const detail = `This is ${found}. Send the public key: openssl x509 -in cert.pem -pubkey -noout`
    return { code: 'certificate_submitted', detail }
  }
  if (labels.every((name) => /(?:^| )CERTIFICATE REQUEST$/.test(name))) {
    const detail =
      'This is a certificate request. Send its public key: openssl req -in request.pem -pubkey -noout'
    return { code: 'csr_submitted', detail }
  }
  return undefined
}
