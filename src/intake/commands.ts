/** Commands that the details of faults recommend. */
export const commands = {
  generateRsa: 'openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072 -out private.pem',
  generateEc: 'openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out private.pem',
  generateEd25519: 'openssl genpkey -algorithm ed25519 -out private.pem',
  /** Extracts the public key from a private one. */
  exportPublic: 'openssl pkey -in private.pem -pubout',
  /** Encodes a public key again, in DER. */
  reencode: 'openssl pkey -pubin -in key.pem -pubout',
} as const
