import type { KeyObject } from 'node:crypto'
import { describeUnusable } from '../../intake/formats/ssh.ts'
import { joseCurves } from '../../intake/kinds/curves.ts'
import { CommandError } from '../terminal/failures.ts'
import { type Jwk, publicKeyOf } from './jwk.ts'

/**
 * Reads one SSH public key: a line as in `id_rsa.pub`, or a block (RFC 4716). Throws if it is
 * damaged or of a type that signs no tokens.
 */
export function readSshKey(text: string): KeyObject {
  const [name, ...fields] = readStrings(Buffer.from(blobOf(text), 'base64'))
  const type = name?.toString('latin1') ?? ''
  if (type === 'ssh-rsa') return publicKeyOf(rsaJwk(fields))
  if (type === 'ssh-ed25519') return publicKeyOf(ed25519Jwk(fields))
  if (type.startsWith('ecdsa-sha2-nistp')) return publicKeyOf(ecJwk(fields))
  const reason = describeUnusable(type)
  if (reason === undefined) throw new Error('not an SSH key')
  throw new CommandError('refused', reason, { code: 'unsupported_key' })
}

function blobOf(text: string): string {
  const lines = text
    .split(/\r\n?|\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  if (!lines[0]?.startsWith('----')) {
    if (lines.length !== 1) {
      const message = `The file has ${lines.length} SSH keys; expected one.`
      throw new CommandError('usage', message, { code: 'ssh_key_submitted' })
    }
    return /(?:^|[\s"'])(AAAA[A-Za-z0-9+/]+=*)(?:["'\s]|$)/.exec(lines[0] ?? '')?.[1] ?? ''
  }
  return lines.filter((line) => !line.startsWith('----') && !/^[\w-]+:/.test(line)).join('')
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

/** RFC 4253 section 6.6. */
function rsaJwk([e, n, ...rest]: Buffer[]): Jwk {
  if (e === undefined || n === undefined || rest.length > 0) throw new Error('damaged')
  return { kty: 'RSA', n: n.toString('base64url'), e: e.toString('base64url') }
}

/** RFC 8709 section 4. */
function ed25519Jwk([key, ...rest]: Buffer[]): Jwk {
  if (key?.length !== 32 || rest.length > 0) throw new Error('damaged')
  return { kty: 'OKP', crv: 'Ed25519', x: key.toString('base64url') }
}

/** RFC 5656 section 3.1, with an uncompressed point. */
function ecJwk([curve, point, ...rest]: Buffer[]): Jwk {
  const crv = curve?.toString('latin1').replace('nistp', 'P-') ?? ''
  const size = joseCurves.find(({ name }) => name === crv)?.size
  if (size === undefined || point === undefined || rest.length > 0) throw new Error('damaged')
  if (point[0] !== 4 || point.length !== 1 + 2 * size) throw new Error('damaged')
  const [x, y] = [point.subarray(1, 1 + size), point.subarray(1 + size)]
  return { kty: 'EC', crv, x: x.toString('base64url'), y: y.toString('base64url') }
}
