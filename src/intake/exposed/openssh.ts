import { toBigInt } from '../encoding/bytes.ts'
import { oid } from '../encoding/oids.ts'
import type { PrivateKeyNumbers } from './private-der.ts'

const MAGIC_BYTES = 15

/** Curves by their SSH names (RFC 5656 section 10.1). */
const sshCurves: ReadonlyMap<string, string> = new Map([
  ['ecdsa-sha2-nistp256', '1.2.840.10045.3.1.7'],
  ['ecdsa-sha2-nistp384', '1.3.132.0.34'],
  ['ecdsa-sha2-nistp521', '1.3.132.0.35'],
])

/** The numbers of an unencrypted OpenSSH private key (PROTOCOL.key); undefined for others. */
export function readOpenssh(bytes: Uint8Array): PrivateKeyNumbers | undefined {
  const outer = stringsOf(bytes.subarray(MAGIC_BYTES), 3)
  const cipher = outer.strings[0]
  if (cipher === undefined || Buffer.from(cipher).toString('latin1') !== 'none') return undefined
  const blobs = stringsOf(outer.rest.subarray(4), 2)
  const secret = blobs.strings[1]
  if (secret === undefined) return undefined
  const [name, ...fields] = stringsOf(secret.subarray(8), 7).strings
  const kind = Buffer.from(name ?? []).toString('latin1')
  if (kind === 'ssh-ed25519') return readEd25519(fields)
  if (kind === 'ssh-rsa') return readRsa(fields)
  const curve = sshCurves.get(kind)
  const scalar = fields[2]
  if (curve === undefined || scalar === undefined) return undefined
  return { kind: 'ec', curve, scalar: toBigInt(scalar) }
}

function readEd25519(fields: Uint8Array[]): PrivateKeyNumbers | undefined {
  const pair = fields[1]
  if (pair?.length !== 64) return undefined
  return { kind: 'seeded', oid: oid.ed25519, secret: pair.subarray(0, 32), form: 'seed' }
}

/** n, e, d, iqmp, p, q, each an mpint. */
function readRsa(fields: Uint8Array[]): PrivateKeyNumbers | undefined {
  const [n, e, , , p, q] = fields.map(toBigInt)
  if (n === undefined || e === undefined) return undefined
  return { kind: 'rsa', n, e, factors: [p, q].filter((factor) => factor !== undefined) }
}

/** Up to a number of SSH strings (RFC 4251 section 5), as far as they are whole. */
function stringsOf(bytes: Uint8Array, most: number): { strings: Uint8Array[]; rest: Uint8Array } {
  const strings: Uint8Array[] = []
  let rest = bytes
  while (strings.length < most && rest.length >= 4) {
    const length = Buffer.from(rest.subarray(0, 4)).readUInt32BE()
    if (length > rest.length - 4) break
    strings.push(rest.subarray(4, 4 + length))
    rest = rest.subarray(4 + length)
  }
  return { strings, rest }
}
