import { fault } from './fault.ts'
import type { Fault } from './types.ts'

const sshKey =
  /(?:^|[\s"'])(?:ssh-(?:rsa|dss|ed25519|ed448)|ecdsa-sha2-\S{1,40}|sk-\S{1,60}|ssh-\S{1,40}-cert-v\d\d@openssh\.com|ssh-xmss@openssh\.com)[ \t]+AAAA/
const sshStart =
  /^(?:ssh-(?:rsa|dss|ed25519|ed448)|ecdsa-sha2-\S{1,60}|sk-\S{1,60}|ssh-\S{1,60}@openssh\.com)[ \t]/
/** base64 of an SSH blob: the length of a name of at most 255 letters, then the name. */
const sshBlob = /^AAAA[A-Z][A-Za-z0-9+/]{10,}/
const sshNames = ['ssh-', 'ecdsa-sha2-', 'sk-']
const sshBlock = /-{4,5} ?BEGIN (?:OPEN)?SSH2? (?:ENCRYPTED )?(?:PUBLIC )?(?:KEY|CERTIFICATE)/
/** ssh-keygen cannot write Ed25519 keys as PEM, so the SPKI header is put before the 32 bytes. */
const ed25519Conversion =
  "(echo MCowBQYDK2VwAyEA | base64 -d; cut -d' ' -f2 key.pub | base64 -d | tail -c 32) | openssl pkey -pubin -inform DER -pubout"
const label = /-----BEGIN ([A-Z0-9][A-Z0-9 ]*)-----/g

/**
 * Recognises what people paste in place of a PEM public key, and says how to convert it. The text
 * holds no private key.
 */
export function detectWrongKind(text: string): Fault | undefined {
  const body = text.replace(/^\uFEFF/, '').trim()
  return recogniseJson(body) ?? recogniseSsh(body) ?? recogniseArmour(body)
}

function recogniseJson(body: string): Fault | undefined {
  const value = parseJson(body)
  if (value === undefined) return undefined
  const looksLikeJwk = /"(?:kty|keys)\\?"\s*:/.test(JSON.stringify(value))
  const what = looksLikeJwk ? 'This is a JWK' : 'This is a JSON document'
  const detail = `${what}. Send the key as PEM (BEGIN PUBLIC KEY), as a string. With Node: node -p "crypto.createPublicKey({key: JSON.parse(fs.readFileSync('key.jwk')), format: 'jwk'}).export({type: 'spki', format: 'pem'})"`
  return fault('jwk_submitted', detail)
}

/** The JSON object or array that a text is, be it written as a JSON string once more. */
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

function recogniseSsh(body: string): Fault | undefined {
  const unquoted = body.replace(/^["']/, '')
  const isSsh =
    sshStart.test(unquoted) || sshKey.test(body) || sshBlock.test(body) || isSshBlob(unquoted)
  if (!isSsh) return undefined
  const isEd25519 = /ssh-ed25519|AAAAC3NzaC1lZDI1NTE5/.test(body)
  const command = isEd25519 ? ed25519Conversion : 'ssh-keygen -e -m PKCS8 -f key.pub'
  const first = sshBlock.test(body)
    ? ' after turning the block into one line: ssh-keygen -i -f block.pub > key.pub'
    : ''
  const detail = `This is an SSH key. Convert it: ${command}${first}`
  return fault('ssh_key_submitted', detail)
}

function isSshBlob(body: string): boolean {
  if (!sshBlob.test(body)) return false
  const bytes = Buffer.from(body.slice(0, 64), 'base64')
  const name = bytes.subarray(4).toString('latin1')
  return sshNames.some((start) => name.startsWith(start))
}

function recogniseArmour(body: string): Fault | undefined {
  if (/-----BEGIN PGP /.test(body)) {
    const detail =
      'This is a PGP key, which is no key for JWTs. Make a pair for JWTs: openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out key.pem'
    return fault('pgp_key_submitted', detail)
  }
  const labels = [...body.matchAll(label)].map(([, name]) => name ?? '')
  if (labels.length === 0) return undefined
  if (labels.every((name) => /(?:^| )CERTIFICATE$/.test(name) && !/ATTRIBUTE/.test(name))) {
    const chain = labels.length > 1 ? ` (a chain of ${labels.length})` : ''
    const detail = `This is a certificate${chain}. Send its public key: openssl x509 -in cert.pem -pubkey -noout`
    return fault('certificate_submitted', detail)
  }
  if (labels.every((name) => /(?:^| )CERTIFICATE REQUEST$/.test(name))) {
    const detail =
      'This is a certificate request. Send its public key: openssl req -in request.pem -pubkey -noout'
    return fault('csr_submitted', detail)
  }
  return undefined
}
