import type { KeyObject } from 'node:crypto'
import { describeUnusable } from '../../intake/formats/ssh.ts'
import { type Jwk, publicKeyOf } from '../../intake/kinds/public-jwk.ts'
import { CommandError } from '../terminal/failures.ts'

/**
 * Reads one SSH public key: a line as in `id_rsa.pub`, or a block (RFC 4716). Throws if it is
 * damaged or of a type that signs no tokens.
 */
export function readSshKey(text: string): KeyObject {
  const [name, ...fields] = readStrings(Buffer.from(blobOf(text), 'base64'))
  const type = name?.toString('latin1') ?? ''
  if (type === '') throw new Error('not an SSH key')
  const reason = describeUnusable(type)
  if (reason !== undefined) throw new CommandError('refused', reason, { code: 'unsupported_key' })
  return publicKeyOf(toJwk(type, fields))
}

function blobOf(text: string): string {
  const lines = text
    .split(/\r\n?|\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  if (!lines[0]?.startsWith('----')) {
    if (lines.length !== 1) {
      const message = `The file has ${lines.length} SSH keys; expected one.`
      throw new CommandError('file', message, { code: 'ssh_key_submitted' })
    }
    return /(?:^|[\s"'])(AAAA[A-Za-z0-9+/]+=*)(?:["'\s]|$)/.exec(lines[0] ?? '')?.[1] ?? ''
  }
  return lines.filter((line) => !line.startsWith('----') && !/^[\w-]+:/.test(line)).join('')
}

/** What stands behind the key in its line, or the header Comment of a block. */
export function sshComment(text: string): string | undefined {
  const [, behind, header] = /AAAA[\w+/]+=*[\t ]+(\S.*)|^Comment:\s*"?(.*?)"?\s*$/m.exec(text) ?? []
  return (behind ?? header)?.trim() || undefined
}

/** The strings that make up the blob (RFC 4251 section 5). Throws if it is cut off. */
function readStrings(blob: Buffer): Buffer[] {
  const strings: Buffer[] = []
  for (let at = 0; at < blob.length; ) {
    const end = at + 4 + blob.readUInt32BE(at)
    if (end > blob.length) throw new Error('cut off')
    strings.push(blob.subarray(at + 4, end))
    at = end
  }
  return strings
}

/** By RFC 4253 section 6.6, RFC 8709 section 4 and RFC 5656 section 3.1. */
function toJwk(type: string, fields: readonly Buffer[]): Jwk {
  if (fields.length !== (type === 'ssh-ed25519' ? 1 : 2)) throw new Error('damaged')
  const [first, second] = fields.map((field) => field.toString('base64url'))
  if (type === 'ssh-rsa') return { kty: 'RSA', e: first, n: second }
  if (type === 'ssh-ed25519') return { kty: 'OKP', crv: 'Ed25519', x: first }
  const [curve = '', point = ''] = fields.map((field) => field.toString('latin1'))
  const size = (point.length - 1) / 2
  if (!point.startsWith('\x04')) throw new Error('damaged')
  const [x, y] = [point.slice(1, 1 + size), point.slice(1 + size)].map((coordinate) =>
    Buffer.from(coordinate, 'latin1').toString('base64url'),
  )
  return { kty: 'EC', crv: curve.replace('nistp', 'P-'), x, y }
}
