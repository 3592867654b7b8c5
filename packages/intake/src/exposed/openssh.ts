import { toBigInt } from '../encoding/bytes.ts'
import { oid } from '../encoding/oids.ts'
import { joseCurves } from '../kinds/curves.ts'
import type { PrivateKeyNumbers } from './private-der.ts'

const magicLength = 15

/** Reads an OpenSSH private key (PROTOCOL.key); undefined if it is encrypted or of another kind. */
export function readOpenssh(bytes: Uint8Array): PrivateKeyNumbers | undefined {
  const outer = readStrings(bytes.subarray(magicLength), 3)
  if (toText(outer.strings[0]) !== 'none') return undefined
  // The number of keys, the public key, then the private one after two check integers.
  const secret = readStrings(outer.rest.subarray(4), 2).strings[1]
  if (secret === undefined) return undefined
  const [name, ...fields] = readStrings(secret.subarray(8), 7).strings
  const kind = toText(name)
  if (kind === 'ssh-ed25519') return readEd25519(fields)
  if (kind === 'ssh-rsa') return readRsa(fields)
  return readEcdsa(kind, fields)
}

function readEd25519(fields: Uint8Array[]): PrivateKeyNumbers | undefined {
  const pair = fields[1]
  if (pair?.length !== 64) return undefined
  return { kind: 'seeded', oid: oid.ed25519, secret: pair.subarray(0, 32), form: 'seed' }
}

/** n, e, d, iqmp, p and q, each an mpint. */
function readRsa(fields: Uint8Array[]): PrivateKeyNumbers | undefined {
  const [n, e, , , p, q] = fields.map(toBigInt)
  if (n === undefined || e === undefined) return undefined
  return { kind: 'rsa', n, e, factors: [p, q].filter((factor) => factor !== undefined) }
}

/** `ecdsa-sha2-nistp256` is P-256 (RFC 5656 section 10.1). */
function readEcdsa(kind: string, fields: Uint8Array[]): PrivateKeyNumbers | undefined {
  const curve = joseCurves.find(({ name }) => kind === `ecdsa-sha2-nistp${name.slice(2)}`)
  const scalar = fields[2]
  if (curve === undefined || scalar === undefined) return undefined
  return { kind: 'ec', curve: curve.oid, scalar: toBigInt(scalar) }
}

/** Reads up to `max` SSH strings (RFC 4251 section 5) and stops at one that was cut off. */
export function readStrings(
  bytes: Uint8Array,
  max: number,
): { strings: Uint8Array[]; rest: Uint8Array } {
  const strings: Uint8Array[] = []
  let rest = bytes
  while (strings.length < max && rest.length >= 4) {
    const end = 4 + Buffer.from(rest.subarray(0, 4)).readUInt32BE()
    if (end > rest.length) break
    strings.push(rest.subarray(4, end))
    rest = rest.subarray(end)
  }
  return { strings, rest }
}

function toText(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString('latin1')
}
