import { commands } from '../commands.ts'
import { contentOfBlock } from './content.ts'

const sshKey =
  /(?:^|[\s"'])(?:ssh-(?:rsa|dss|ed25519|ed448)|ecdsa-sha2-\S{1,40}|sk-\S{1,60}|ssh-\S{1,40}-cert-v\d\d@openssh\.com|ssh-xmss@openssh\.com)[ \t]+AAAA/
const sshStart =
  /^(?:ssh-(?:rsa|dss|ed25519|ed448)|ecdsa-sha2-\S{1,60}|sk-\S{1,60}|ssh-\S{1,60}@openssh\.com)[ \t]/
const sshBlock = /-{4,5} ?BEGIN (?:OPEN)?SSH2? (?:ENCRYPTED )?(?:PUBLIC )?(?:KEY|CERTIFICATE)/
/** base64 of an SSH key: the length of a name of at most 255 letters, then the name. */
const sshBlob = /AAAA[A-Z][A-Za-z0-9+/]{10,}/g
const sshName = /^(?:ssh|ecdsa-sha2|sk)-[\w@.-]+/
/** A PEM block of any label. */
const armor = /^-----BEGIN [A-Z0-9 ]+-----(?:\s|\\[rn])*(AAAA[\s\S]*?)-----END/

/** Where the key is in a text. */
type Layout = 'line' | 'block' | 'armor' | 'other'

/** Says what to do with an SSH key; undefined if the text is none. */
export function describeSsh(body: string): string | undefined {
  const unquoted = body.replace(/^["']/, '')
  const blobs = [...unquoted.matchAll(sshBlob)].flatMap(([blob]) => nameInBlob(blob) ?? [])
  const armored = armor.exec(unquoted)?.[1]
  const isArmored = armored !== undefined && nameInBlob(armored) !== undefined
  const isBlock = sshBlock.test(body) && contentOfBlock(body) === undefined
  const isLine = sshStart.test(unquoted) || sshKey.test(body)
  const isBare = nameInBlob(unquoted) !== undefined
  if (!isArmored && !isBlock && !isLine && !isBare) return undefined
  if (blobs.length > 1) return `These are ${blobs.length} SSH keys. Send one key per request.`
  const name = blobs[0] ?? sshKeyName.exec(body)?.[1] ?? ''
  const layout = isArmored ? 'armor' : isBlock ? 'block' : sshStart.test(body) ? 'line' : 'other'
  return describeUnusable(name) ?? `This is an SSH key. Convert it: ${conversion(name, layout)}`
}

const sshKeyName = /((?:ssh|ecdsa-sha2|sk)-[\w@.-]+)/

function nameInBlob(text: string): string | undefined {
  if (!/^AAAA[A-Z][A-Za-z0-9+/]{10}/.test(text)) return undefined
  const bytes = Buffer.from(text.slice(0, 120), 'base64')
  return sshName.exec(bytes.subarray(4, 4 + (bytes[3] ?? 0)).toString('latin1'))?.[0]
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
function conversion(name: string, layout: Layout): string {
  if (name === 'ssh-ed25519') {
    // ssh-keygen cannot write Ed25519 keys as PEM.
    return commands.convertEd25519(`${readBase64(name, layout)} | base64 -d | tail -c 32`)
  }
  const convert = 'ssh-keygen -e -m PKCS8 -f'
  if (layout === 'line') return `${convert} key.pub`
  if (layout === 'block') return `ssh-keygen -i -f key.pub | ${convert} /dev/stdin`
  return `(printf '${name} '; ${readBase64(name, layout)}) | ${convert} /dev/stdin`
}

/** The command that writes the base64 of the key in one line. */
function readBase64(name: string, layout: Layout): string {
  if (layout === 'armor') {
    return `perl -0777 -ne 's/\\s|\\\\[rn]//g; print $1 if /BEGIN.*?-----(.*?)-----/' key.pub`
  }
  const start = Buffer.from([0, 0, 0, name.length, ...Buffer.from(name)]).toString('base64')
  // The last characters of this base64 depend on what follows the name.
  const search = `grep -o '${start.slice(0, 12)}[A-Za-z0-9+/=]*'`
  return layout === 'block' ? `ssh-keygen -i -f key.pub | ${search}` : `${search} key.pub`
}
