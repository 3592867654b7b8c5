/**
 * Commands that the details of faults recommend, each at the end of its sentence. A command reads the
 * submitted text from the file that it names, or a private key from `private.pem`. The tests run
 * each on the inputs that it is recommended for.
 */
export const commands = {
  generateRsa: 'openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072 -out private.pem',
  generateEc: 'openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out private.pem',
  generateEd25519: 'openssl genpkey -algorithm ed25519 -out private.pem',
  /** With Node, because OpenSSL knows ML-DSA only since 3.5. */
  generateMlDsa: (name: string) =>
    `node -e "fs.writeFileSync('private.pem', crypto.generateKeyPairSync('${name.toLowerCase()}').privateKey.export({type: 'pkcs8', format: 'pem'}))"`,
  /** Extracts the public key from a private one. */
  exportPublic: 'openssl pkey -in private.pem -pubout',
  exportPublicMlDsa: `node -p "crypto.createPublicKey(fs.readFileSync('private.pem')).export({type: 'spki', format: 'pem'})"`,
  uncompressPoint: 'openssl ec -pubin -in key.pem -pubout -conv_form uncompressed',
  /** Extracts a public key with a named curve, from a private one with explicit parameters. */
  exportNamedCurve: 'openssl ec -in private.pem -pubout -param_enc named_curve',
  convertDer: 'openssl pkey -pubin -inform DER -in key.der -pubout',
  convertCertificate: 'openssl x509 -in cert.pem -pubkey -noout',
  convertRequest: 'openssl req -in request.pem -pubkey -noout',
  /** JWKs: `require` reads a file of that name with or without a byte order mark. */
  convertJwk: jwkCommand("require('./key.json')"),
  convertFirstJwk: jwkCommand("require('./jwks.json').keys[0]"),
  convertNestedJwk: jwkCommand("Object.values(require('./key.json')).find(each => each?.kty)"),
  /** Standard or URL-safe base64, in quotes or not, with line breaks that may be escaped. */
  decodeBase64: `perl -MMIME::Base64=decode_base64url -0777 -ne 's/\\\\[rn]//g; print decode_base64url($_)' key.txt`,
  /** The DER in a block of any label and layout. */
  decodePem: (file: string) =>
    `perl -MMIME::Base64 -0777 -ne 's/\\\\[rn]//g; print decode_base64($1) if /BEGIN .*?-----(.*?)-----/s' ${file}`,
  /** Imports a JWKS, or a JSON object of certificates. */
  importKeys: (file: string) => `pubring import ${file}`,
  convertFirstCertificate: `node -p "Object.values(require('./certs.json'))[0]" | openssl x509 -pubkey -noout`,
} as const

function jwkCommand(jwk: string): string {
  return `node -p "crypto.createPublicKey({key: ${jwk}, format: 'jwk'}).export({type: 'spki', format: 'pem'})"`
}
