import { encode, encodeBitString, tag } from './der.ts'

/** Encodes an OBJECT IDENTIFIER given in dotted form (X.690 section 8.19). */
export function encodeOid(dotted: string): Uint8Array {
  const [top = 0, second = 0, ...others] = dotted.split('.').map(Number)
  return encode(tag.oid, Uint8Array.from([40 * top + second, ...others].flatMap(encodeArc)))
}

function encodeArc(arc: number): number[] {
  const bytes = [arc % 128]
  for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.unshift((rest % 128) | 0x80)
  }
  return bytes
}

/** An SPKI whose algorithm has the given parameters, none for Ed25519 and ML-DSA (RFC 5280). */
export function encodeSpki(dotted: string, parameters: Uint8Array, key: Uint8Array): Uint8Array {
  const algorithm = encode(tag.sequence, encodeOid(dotted), parameters)
  return encode(tag.sequence, algorithm, encodeBitString(key))
}
