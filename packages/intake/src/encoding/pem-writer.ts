/** Breaks base64 into lines of 64 characters. */
export function wrap(base64: string): string {
  return (base64.match(/.{1,64}/g) ?? []).join('\n')
}

/** Canonical SPKI PEM: `PUBLIC KEY`, 64 columns, LF, one final LF (RFC 7468 sections 2 and 13). */
export function writePem(spki: Uint8Array): string {
  const body = wrap(Buffer.from(spki).toString('base64'))
  return `-----BEGIN PUBLIC KEY-----\n${body}\n-----END PUBLIC KEY-----\n`
}
