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
  /** Its input is DER. */
  uncompressPoint: 'openssl ec -pubin -inform DER -pubout -conv_form uncompressed',
  /** Extracts a public key with a named curve, from a private one with explicit parameters. */
  exportNamedCurve: 'openssl ec -in private.pem -pubout -param_enc named_curve',
  convertDer: 'openssl pkey -pubin -inform DER -in key.der -pubout',
  convertCertificate: 'openssl x509 -in cert.pem -pubkey -noout',
  convertRequest: 'openssl req -in request.pem -pubkey -noout',
  /** JWKs: `require` reads a file of that name with or without a byte order mark. */
  convertJwk: jwkCommand("require('./key.json')"),
  convertFirstJwk: jwkCommand("require('./jwks.json').keys[0]"),
  /** Converts the first JWK at any depth of a document. */
  convertNestedJwk: jwkCommand(
    'jwk',
    "let jwk; JSON.stringify(require('./key.json'), (_, v) => (v?.kty && (jwk ??= v), v)); ",
  ),
  /** The certificate of the first JWK that has one. */
  convertX5c: `jq -r 'first(.. | .x5c? // empty)[0]' key.json | base64 -d | openssl x509 -inform DER -pubkey -noout`,
  printNestedPem: `jq -r 'first(.. | strings | select(test("^\\\\s*-----BEGIN")))' key.json`,
  printTransitKey: `jq '.data.keys |= (to_entries | [max_by(.key | tonumber)] | from_entries)' key.json`,
  printSecret: `jq -r 'first(.data[] | @base64d | select(startswith("-----BEGIN") and (contains("PRIVATE") | not)))' key.json`,
  /** An SPKI header before the 32 bytes of an Ed25519 key, which `read` writes. */
  convertEd25519: (read: string) =>
    `(echo MCowBQYDK2VwAyEA | base64 -d; ${read}) | openssl pkey -pubin -inform DER -pubout`,
  printKeyOfAws: 'aws kms get-public-key --key-id ID --output json',
  convertPkcs12: 'openssl pkcs12 -in store.p12 -nokeys -clcerts | openssl x509 -pubkey -noout',
  convertTrustStore: 'openssl pkcs12 -in store.p12 -nokeys | openssl x509 -pubkey -noout',
  convertJks: 'keytool -list -rfc -keystore store.jks | openssl x509 -pubkey -noout',
  joinJsonLines: `jq -s '{keys: .}' keys.json > jwks.json && pubring import jwks.json`,
  /** Standard or URL-safe base64, in quotes or not, with line breaks that may be escaped. */
  decodeBase64: `perl -MMIME::Base64=decode_base64url -0777 -ne 's/\\\\[rn]//g; print decode_base64url($_)' key.txt`,
  /** The DER in a block of any label and layout. */
  decodePem: (file: string) =>
    `perl -MMIME::Base64 -0777 -ne 's/\\\\[rn]//g; print decode_base64($1) if /BEGIN .*?-----(.*?)-----/s' ${file}`,
  /** Imports a JWKS, or a JSON object of certificates. */
  importKeys: (file: string) => `pubring import ${file}`,
  /** Imports what is at the address in a member of the document. */
  importFrom: (member: string) => `curl -fsS "$(jq -r .${member} key.json)" | pubring import -`,
  applyKeys: 'pubring apply keys.json',
  convertFirstCertificate: `node -p "Object.values(require('./certs.json'))[0]" | openssl x509 -pubkey -noout`,
} as const

function jwkCommand(jwk: string, find = ''): string {
  return `node -p "${find}crypto.createPublicKey({key: ${jwk}, format: 'jwk'}).export({type: 'spki', format: 'pem'})"`
}
