import { createPublicKey, type KeyObject } from 'node:crypto'
import { CommandError } from '../terminal/failures.ts'

/** Curves by their names in SSH (RFC 5656 section 10.1), and the octets of a coordinate. */
const curves: ReadonlyMap<string, { crv: string; size: number }> = new Map([
  ['nistp256', { crv: 'P-256', size: 32 }],
  ['nistp384', { crv: 'P-384', size: 48 }],
  ['nistp521', { crv: 'P-521', size: 66 }],
])

/**
 * The public key of one SSH key: a line as in `id_rsa.pub`, or a block (RFC 4716). Throws where it is
 * damaged, or of a kind that signs no tokens.
 */
export function readSshKey(text: string): KeyObject {
  const fields = stringsOf(Buffer.from(blobOf(text), 'base64'))
  const kind = fields[0]?.toString('latin1') ?? ''
  const rest = fields.slice(1)
  if (kind === 'ssh-rsa') return rsa(rest)
  if (kind === 'ssh-ed25519') return createPublicKey({ key: ed25519(rest), format: 'jwk' })
  if (kind.startsWith('ecdsa-sha2-nistp')) return ec(rest)
  throw new CommandError('refused', 'SSH keys of this kind cannot sign tokens.', {
    code: 'unsupported_key',
    hints: ['Take an RSA, ECDSA (nistp256, nistp384, nistp521) or Ed25519 key.'],
  })
}

function blobOf(text: string): string {
  const lines = text
    .replace(/^\uFEFF/, '')
    .split(/\r\n?|\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  if (!lines[0]?.startsWith('----')) {
    if (lines.length !== 1) throw new Error('not one key')
    return /(?:^|\s)(AAAA[A-Za-z0-9+/]+=*)(?:\s|$)/.exec(lines[0] ?? '')?.[1] ?? ''
  }
  const body = lines.filter((line) => !line.startsWith('----') && !/^[\w-]+:/.test(line))
  return body.join('')
}

/** The strings of the blob (RFC 4251 section 5); nothing may be left over. */
function stringsOf(blob: Buffer): Buffer[] {
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
function rsa([e, n, ...rest]: Buffer[]): KeyObject {
  if (e === undefined || n === undefined || rest.length > 0) throw new Error('damaged')
  const number = (octets: Buffer) => octets.subarray(octets.findIndex((each) => each !== 0))
  const key = { kty: 'RSA', n: number(n).toString('base64url'), e: number(e).toString('base64url') }
  return createPublicKey({ key, format: 'jwk' })
}

/** RFC 8709 section 4. */
function ed25519([octets, ...rest]: Buffer[]) {
  if (octets?.length !== 32 || rest.length > 0) throw new Error('damaged')
  return { kty: 'OKP', crv: 'Ed25519', x: octets.toString('base64url') }
}

/** RFC 5656 section 3.1; the point is not compressed. */
function ec([name, point, ...rest]: Buffer[]): KeyObject {
  const curve = curves.get(name?.toString('latin1') ?? '')
  if (curve === undefined || point === undefined || rest.length > 0) throw new Error('damaged')
  const { crv, size } = curve
  if (point[0] !== 4 || point.length !== 1 + 2 * size) throw new Error('damaged')
  const [x, y] = [point.subarray(1, 1 + size), point.subarray(1 + size)]
  const key = { kty: 'EC', crv, x: x.toString('base64url'), y: y.toString('base64url') }
  return createPublicKey({ key, format: 'jwk' })
}
