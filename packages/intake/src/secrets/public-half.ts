import { parseJson } from './markers.ts'

/** Blocks that OpenSSL reads, which repairs none, and a file that ssh-keygen reads, but for CRLF and its end. */
const opensslBlock =
  /^-----BEGIN (?:RSA |EC |ENCRYPTED )?PRIVATE KEY-----\r?\n(?:[\w-]+: .*\n|\r?\n(?=[^\r\n]))*(?:[A-Za-z0-9+/=]+\r?\n)+-----END [A-Z ]+-----[\t ]*\r?$/m
const opensshFile =
  /^-----BEGIN OPENSSH PRIVATE KEY-----\r?\n(?:[A-Za-z0-9+/=]+\r?\n)+-----END OPENSSH PRIVATE KEY-----\s*$/

/**
 * The command that prints the public half of the private key `text`, which is in a file;
 * `quotedFile` is its name as one word of a shell. Undefined if no common tool reads this form.
 */
export function publicHalfCommand(text: string, quotedFile: string): string | undefined {
  if (opensshFile.test(text)) {
    const isPlain = /\n$/.test(text) && !text.includes('\r')
    return isPlain
      ? `ssh-keygen -y -f ${quotedFile}`
      : `(tr -d '\\r' < ${quotedFile}; echo) | ssh-keygen -y -f /dev/stdin`
  }
  const jwk = jwkPath(text)
  if (jwk !== undefined) {
    return `node -p "crypto.createPublicKey({key: JSON.parse(fs.readFileSync(0))${jwk}, format: 'jwk'}).export({type: 'spki', format: 'pem'})" < ${quotedFile}`
  }
  if (opensslBlock.test(text)) return `openssl pkey -in ${quotedFile} -pubout`
  if (!/-----BEGIN (?:RSA |EC )?PRIVATE KEY-----/.test(text)) return undefined
  return `perl -MMIME::Base64 -0777 -ne 's/\\\\[rn]//g; print decode_base64($1) if /BEGIN [A-Z ]*PRIVATE KEY-----(.*?)-----/s' ${quotedFile} | openssl pkey -inform DER -pubout`
}

/** Where the JWK is in the JSON: the only one of a set, or the document itself. */
function jwkPath(text: string): string | undefined {
  const document = Object(parseJson(text))
  const hasPublicHalf = ({ kty }: Record<string, unknown>) =>
    typeof kty === 'string' && kty !== 'oct'
  if (hasPublicHalf(document)) return ''
  const { keys } = document
  const isSetOfOne = Array.isArray(keys) && keys.length === 1 && hasPublicHalf(Object(keys[0]))
  return isSetOfOne ? '.keys[0]' : undefined
}
