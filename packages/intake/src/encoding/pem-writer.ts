/** Breaks base64 into lines of 64 characters. */
export function wrap(base64: string): string {
  return (base64.match(/.{1,64}/g) ?? []).join('\n')
}

/** Canonical PEM, by default of SPKI: 64 columns, LF, one final LF (RFC 7468 sections 2 and 13). */
export function writePem(der: Uint8Array, label = 'PUBLIC KEY'): string {
  const body = wrap(Buffer.from(der).toString('base64'))
  return `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`
}
