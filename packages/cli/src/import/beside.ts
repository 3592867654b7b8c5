import { isJwk } from '@pubring/intake'
import { maxTextLength } from '@pubring/intake/encoding'
import { containsSecret, readJson } from '@pubring/intake/secrets'

const comments = /^[\t ]*(?:#|\/\/|;|-- ).*$/gm
/** RSAParameters of .NET with a private member, whose names may begin with a small letter. */
const rsaParameters = [/"modulus"\s*:/i, /"(?:d|p|q|dp|dq|inverseq)"\s*:\s*"[A-Za-z0-9+/]{22}/i]

/**
 * Whether the text of a source has a private key beside the keys, each of which is searched by itself.
 * Neither the name of a member, as a wrapper may be called `d` and a kid `k`, nor a comment of a PEM
 * file is evidence. A text of more than 16,384 characters is only searched for plain markers.
 */
export function hasSecretBeside(text: string): boolean {
  const json = text.length <= maxTextLength && /^\s*[{[]/.test(text) ? readJson(text) : undefined
  if (json === undefined) return containsSecret(text.replace(comments, ''), maxTextLength)
  return (
    json.secrets.some(isJwk) ||
    rsaParameters.every((pattern) => pattern.test(text)) ||
    json.texts.some((each) => containsSecret(each, maxTextLength))
  )
}
