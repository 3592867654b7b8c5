/** A decoded JWT that is not verified. */
export interface DecodedToken {
  /** The compact serialization. */
  text: string
  header: Record<string, unknown>
  claims: Record<string, unknown>
  signature: Uint8Array
}

/**
 * Decodes a JWS in compact serialization whose payload is a JWT claims set (RFC 7519 section 7.2).
 * `fault` says what is wrong and what to do.
 */
export function decodeToken(token: string): DecodedToken | { fault: string } {
  const text = token.trim()
  const parts = text.split('.')
  const fault = shapeFault(text, parts)
  if (fault !== undefined) return { fault }
  const [header, claims] = parts.map(decodeJsonPart)
  const [, , signature = ''] = parts
  if (header === undefined) return { fault: 'The header is not a JSON object in base64url.' }
  if (claims === undefined) return { fault: 'The payload is not a JSON object in base64url.' }
  // RFC 7519 section 6: an unsecured JWT is one with `none` and an empty signature.
  if (!isBase64url(signature) && !(signature === '' && header.alg === 'none')) {
    return { fault: 'The signature is missing or not base64url. Was the token truncated?' }
  }
  // RFC 7515 section 4.1.11: critical extensions must be understood. RFC 7797 section 7: no b64 in JWTs.
  if ('crit' in header || header.b64 === false) {
    return {
      fault: 'The header requires extensions (crit, b64) that JWT verifiers do not support.',
    }
  }
  return { text, header, claims, signature: Buffer.from(signature, 'base64url') }
}

function shapeFault(text: string, parts: readonly string[]): string | undefined {
  if (text === '') return 'The token is empty.'
  if (/^bearer\s/i.test(text)) {
    return 'Remove the word Bearer: it belongs to the Authorization header.'
  }
  if (/\s/.test(text)) return 'The token contains white space. Was it wrapped into lines?'
  if (parts.length === 5) {
    return 'This is an encrypted token (JWE, five parts). Only signed tokens can be checked.'
  }
  if (parts.length === 3) return undefined
  return `A signed JWT has three parts separated by dots; this has ${parts.length}.`
}

/** RFC 7515 section 2: the URL-safe alphabet, without padding. */
function isBase64url(part: string): boolean {
  return /^[A-Za-z0-9_-]+$/.test(part) && part.length % 4 !== 1
}

function decodeJsonPart(part: string): Record<string, unknown> | undefined {
  if (!isBase64url(part)) return undefined
  try {
    const utf8 = new TextDecoder('utf-8', { fatal: true })
    const value: unknown = JSON.parse(utf8.decode(Buffer.from(part, 'base64url')))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
