import { commands } from '../commands.ts'
import { readStrings } from '../exposed/openssh.ts'
import { contentOfBlock } from './content.ts'

const sshStart =
  /^(?:ssh-(?:rsa|dss|ed25519|ed448)|ecdsa-sha2-\S{1,60}|sk-\S{1,60}|ssh-\S{1,60}@openssh\.com)[ \t]/
const sshBlock = /-{4,5} ?BEGIN (?:OPEN)?SSH2? (?:ENCRYPTED )?(?:PUBLIC )?(?:KEY|CERTIFICATE)/
/** base64 of an SSH key: the length of a name of at most 255 letters, then the name. */
const sshBlob = /AAAA[A-Z][A-Za-z0-9+/]{10,}/g
/** base64 of an RSA, ECDSA or Ed25519 key. */
const usableBlob = /AAAA(?:B3NzaC1y|C3NzaC1l|E2VjZHNh)[A-Za-z0-9+/]{10,}={0,2}/g
const sshName = /(?:ssh|ecdsa-sha2|sk)-[\w@.-]+/
/** A line as in `id_rsa.pub`, which ssh-keygen reads. */
const sshLine = /^[\t\n\r ]*(?:ssh|ecdsa)-\S+[\t ]+(AAAA[\w+/]+=*)(?:[\t ][^\r\n]*)?$/

/** Says what to do with an SSH key; undefined if the text is none. */
export function describeSsh(text: string): string | undefined {
  const body = text.replace(/^\uFEFF/, '').trim()
  const key = readSshKey(body)
  const blobs = [...body.matchAll(sshBlob)].flatMap(([blob]) => nameInBlob(blob) ?? [])
  const isBlock = sshBlock.test(body) && contentOfBlock(body) === undefined
  const isLine = sshStart.test(body.replace(/^["']/, ''))
  if (key === undefined && blobs.length === 0 && !isBlock && !isLine) return undefined
  if (blobs.length > 1) return `These are ${blobs.length} SSH keys. Send one key per request.`
  const name = key?.type ?? blobs[0] ?? sshName.exec(body)?.[0] ?? ''
  const unusable = describeUnusable(name)
  if (unusable !== undefined) return unusable
  if (key === undefined) return 'This SSH key is cut off or damaged. Copy it from its file again.'
  const isInOneLine = sshLine.exec(text.trimEnd())?.[1] === key.base64
  return `This is an SSH key. Convert it: ${conversion(key, isInOneLine)}`
}

function nameInBlob(text: string): string | undefined {
  const bytes = Buffer.from(text.slice(0, 120), 'base64')
  return sshName.exec(bytes.subarray(4, 4 + (bytes[3] ?? 0)).toString('latin1'))?.[0]
}

/** An SSH public key of a type that signs tokens. */
export interface SshKey {
  type: string
  /** The strings behind the type (RFC 4253 section 6.6, RFC 8709 section 4, RFC 5656 section 3.1). */
  fields: Uint8Array[]
  /** Of the whole key, with padding. */
  base64: string
}

/** The first RSA, ECDSA or Ed25519 key in a text of any layout; undefined if it is cut off or damaged. */
export function readSshKey(text: string): SshKey | undefined {
  for (const [blob] of text.replace(/\s|\\[rn]/g, '').matchAll(usableBlob)) {
    const type = nameInBlob(blob) ?? ''
    if (type === '' || describeUnusable(type) !== undefined) continue
    const bytes = Buffer.from(blob, 'base64')
    const count = type === 'ssh-ed25519' ? 2 : 3
    const { strings, rest } = readStrings(bytes, count)
    // A comment may follow.
    const base64 = bytes.subarray(0, bytes.length - rest.length).toString('base64')
    const isWhole = strings.length === count && blob.startsWith(base64)
    return isWhole ? { type, fields: strings.slice(1), base64 } : undefined
  }
  return undefined
}

/** Why keys of this type cannot be converted; undefined for RSA, ECDSA and Ed25519. */
function describeUnusable(name: string): string | undefined {
  if (name.startsWith('sk-')) {
    return `This is the SSH key of a security key (FIDO), which cannot sign JWTs. Generate a key pair: ${commands.generateEc}`
  }
  if (/-cert-v\d\d@/.test(name)) {
    return 'This is an SSH certificate. Send the key that it certifies: the file without -cert in its name.'
  }
  if (/^(?:ssh-rsa|ssh-ed25519|ecdsa-sha2-nistp(?:256|384|521))$/.test(name)) return undefined
  return `SSH keys of this type cannot sign JWTs. Generate a key pair: ${commands.generateRsa}`
}

/** The command that converts `key.pub` to PEM. */
function conversion({ type, base64 }: SshKey, isInOneLine: boolean): string {
  const convert = 'ssh-keygen -e -m PKCS8 -f'
  if (isInOneLine && type !== 'ssh-ed25519') return `${convert} key.pub`
  const start = base64.slice(0, 12)
  const read = `perl -0777 -ne 's/\\s|\\\\[rn]//g; print /(${start}.{${base64.length - 12}})/' key.pub`
  // ssh-keygen cannot write Ed25519 keys as PEM.
  return type === 'ssh-ed25519'
    ? commands.convertEd25519(`${read} | base64 -d | tail -c 32`)
    : `(printf '${type} '; ${read}) | ${convert} /dev/stdin`
}
