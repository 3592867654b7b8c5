import { parseJson } from './markers.ts'

/**
 * The command that prints the public half of the private key `text`, which is in a file;
 * `quotedFile` is its name as one word of a shell. Undefined if no common tool reads this form.
 */
export function publicHalfCommand(text: string, quotedFile: string): string | undefined {
  if (/^\s*-----BEGIN OPENSSH PRIVATE KEY-----/.test(text)) return `ssh-keygen -y -f ${quotedFile}`
  const jwk = jwkPath(text)
  if (jwk !== undefined) {
    return `node -p "crypto.createPublicKey({key: JSON.parse(fs.readFileSync(0))${jwk}, format: 'jwk'}).export({type: 'spki', format: 'pem'})" < ${quotedFile}`
  }
  const isPem = /^[ \t]*-----BEGIN (?:RSA |EC |ENCRYPTED )?PRIVATE KEY-----/m.test(text)
  return isPem ? `openssl pkey -in ${quotedFile} -pubout` : undefined
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
