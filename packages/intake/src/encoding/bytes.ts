/** Reads big-endian bytes as a non-negative number. */
export function toBigInt(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}

/** Reads the content of a DER INTEGER: big-endian two's complement (X.690 section 8.3). */
export function toSignedBigInt(bytes: Uint8Array): bigint {
  return BigInt.asIntN(8 * bytes.length, toBigInt(bytes))
}

/** Reads a Base64urlUInt (RFC 7518 section 2), such as `n` of an RSA JWK. */
export function base64urlToBigInt(text: string): bigint {
  return toBigInt(Buffer.from(text, 'base64url'))
}

/** The shortest big-endian bytes of a non-negative number; 0 has none. */
export function minimalBytes(value: bigint): Uint8Array {
  if (value === 0n) return new Uint8Array()
  const hex = value.toString(16)
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
}

/** Big-endian bytes of a fixed length; the value must fit. */
export function fixedBytes(value: bigint, length: number): Uint8Array {
  return Buffer.from(value.toString(16).padStart(2 * length, '0'), 'hex')
}

/** Base64url without padding (RFC 7515 section 2). */
export function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}

export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0
}
