/** Reads big-endian octets as a non-negative number. */
export function toNumber(octets: Uint8Array): bigint {
  return octets.length === 0 ? 0n : BigInt(`0x${Buffer.from(octets).toString('hex')}`)
}

/** Reads the content of a DER INTEGER: big-endian two's complement (X.690 section 8.3). */
export function toSignedNumber(octets: Uint8Array): bigint {
  const value = toNumber(octets)
  return (octets[0] ?? 0) < 0x80 ? value : value - (1n << BigInt(8 * octets.length))
}

/** The shortest big-endian octets of a non-negative number; 0 has none. */
export function minimalOctets(value: bigint): Uint8Array {
  if (value === 0n) return new Uint8Array()
  const hex = value.toString(16)
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
}

/** Big-endian octets of a fixed length; the value must fit. */
export function fixedOctets(value: bigint, length: number): Uint8Array {
  return Buffer.from(value.toString(16).padStart(2 * length, '0'), 'hex')
}

export function bitLength(value: bigint): number {
  return value === 0n ? 0 : value.toString(2).length
}

/** Base64url without padding (RFC 7515 section 2). */
export function base64url(octets: Uint8Array): string {
  return Buffer.from(octets).toString('base64url')
}

export function sameOctets(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0
}
