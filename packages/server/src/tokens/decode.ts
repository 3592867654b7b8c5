import { duplicateMember } from '@pubring/intake/json'
import { decodeUtf8, isObject, parseJson } from '../runtime/json.ts'
import { type Finding, failed, passed, quote } from './findings.ts'

/** A decoded JWT that is not verified. */
export interface DecodedToken {
  /** The compact serialization. */
  text: string
  header: Record<string, unknown>
  claims: Record<string, unknown>
  signature: Uint8Array
  /** Faults that some verifiers reject and others ignore, one sentence each. */
  warnings: string[]
}

/**
 * Decodes a JWS in compact serialization whose payload is a JWT claims set (RFC 7519 section 7.2).
 * `fault` says what is wrong and what to do.
 */
export function decodeToken(token: string): DecodedToken | { fault: string } {
  const text = token.trim()
  const fault = shapeFault(text)
  if (fault !== undefined) return { fault }
  const [headerPart = '', claimsPart = '', signature = ''] = text.split('.')
  const header = decodeJsonPart(headerPart, 'The header')
  if ('fault' in header) return header
  const claims = decodeJsonPart(claimsPart, 'The payload')
  if ('fault' in claims) return claims
  const unusable = signatureFault(signature, header.value) ?? extensionFault(header.value)
  if (unusable !== undefined) return { fault: unusable }
  return {
    text,
    header: header.value,
    claims: claims.value,
    signature: Buffer.from(signature, 'base64url'),
    warnings: [
      ...header.warnings,
      ...claims.warnings,
      ...canonicalWarnings(signature, 'The signature'),
    ],
  }
}

/** Whether every verifier decodes it in the same way. */
export function checkForm({ warnings }: DecodedToken, otherwise = failed): Finding {
  return warnings.length === 0 ? passed('A JWT of three parts.') : otherwise(warnings.join(' '))
}

/** Texts that are no token, or more than one, by the first pattern that matches. */
const confusions: readonly [pattern: RegExp, fault: string][] = [
  [/^$/, 'The token is empty.'],
  [/^authorization\s*:/i, 'Remove “Authorization: Bearer”: send only the token after it.'],
  [/^bearer\s/i, 'Remove the word Bearer: it belongs to the Authorization header.'],
  [/^["'`“‘]|["'`”’]$/, 'Remove the quotes around the token.'],
  [
    /-----BEGIN [A-Z ]*PRIVATE KEY/,
    'This is a private key. It was not stored, but treat it as compromised: generate a new pair. Send a token that the new key signed.',
  ],
  [/-----BEGIN /, 'This is a key or a certificate. Send a token that the key signed.'],
  [
    /^https?:|^[\w-]+=(?![=.])/,
    'Send only the token, without the URL, parameter or cookie that holds it.',
  ],
  [/%[0-9a-f]{2}/i, 'The token is URL-encoded: decode it.'],
  [/^ZXlK/, 'The token is in base64 once more: decode it.'],
  [/~$|~ey/, 'This is an SD-JWT. Send only the token before the first ~.'],
]

function shapeFault(text: string): string | undefined {
  const confusion = confusions.find(([pattern]) => pattern.test(text))
  if (confusion !== undefined) return confusion[1]
  if (text.startsWith('{')) return jsonFault(text)
  const [invisible] = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/u.exec(text) ?? []
  if (invisible !== undefined) {
    return `The token contains an invisible character (${codePointOf(invisible)}), which a chat or a web page may have added. Remove it.`
  }
  if (/\s/.test(text)) return 'The token contains white space. Was it wrapped into lines?'
  const [foreign] = /[^\x20-\x7e]/u.exec(text) ?? []
  if (foreign !== undefined) {
    return `The token contains a character that no token has (${codePointOf(foreign)}). Was it typed, or shortened on a screen? Copy it from its source again.`
  }
  const [header = '', ...others] = text.split('.')
  const count = others.length + 1
  if (count === 3) return undefined
  const shape = `A signed JWT has three parts separated by dots; this has ${count}.`
  if (count !== 5) return shape
  const { enc } = parseObject(Buffer.from(header, 'base64url').toString()) ?? { enc: '' }
  if (enc === undefined) return `${shape} Was it pasted twice?`
  return 'This is an encrypted token (JWE, five parts). Only signed tokens can be checked.'
}

function codePointOf(character: string): string {
  return `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`
}

/** Members in which token endpoints return tokens. */
const responseMembers = ['access_token', 'id_token', 'token', 'accessToken', 'idToken', 'jwt']

function jsonFault(text: string): string {
  const value = parseObject(text)
  const member = responseMembers.find((name) => typeof value?.[name] === 'string')
  if (member !== undefined) {
    return `This is a JSON response that holds a token. Send only the value of “${member}”.`
  }
  if (value !== undefined && Object.hasOwn(value, 'payload')) {
    return 'This is a JWS in JSON serialization. A JWT is in compact serialization: three parts separated by dots.'
  }
  return 'This is JSON. Send only the token: three parts separated by dots.'
}

/** RFC 7519 section 6: an unsecured JWT is one with `none` and an empty signature. */
function signatureFault(part: string, { alg }: Record<string, unknown>): string | undefined {
  if (isBase64url(part) || (part === '' && alg === 'none')) return undefined
  if (part === '') return 'The signature is missing. Was the token truncated?'
  return (
    standardBase64Fault(part, 'The signature') ??
    'The signature is not base64url. Was the token truncated?'
  )
}

/** RFC 7515 section 4.1.11: critical extensions must be understood. RFC 7797 section 7: no b64 in JWTs. */
function extensionFault(header: Record<string, unknown>): string | undefined {
  if (!('crit' in header) && header.b64 !== false) return undefined
  return 'The header requires extensions (crit, b64) that JWT verifiers do not support.'
}

/** RFC 7515 section 2: the URL-safe alphabet, without padding. */
function isBase64url(part: string): boolean {
  return /^[A-Za-z0-9_-]+$/.test(part) && part.length % 4 !== 1
}

function standardBase64Fault(part: string, subject: string): string | undefined {
  if (!/^[A-Za-z0-9_+/-]+={0,2}$/.test(part) || !/[+/=]/.test(part)) return undefined
  return `${subject} is in standard base64. JWTs use base64url (RFC 4648 section 5): - and _ instead of + and /, and no padding (=).`
}

function decodeJsonPart(
  part: string,
  subject: string,
): { value: Record<string, unknown>; warnings: string[] } | { fault: string } {
  if (part === '' && subject === 'The payload') {
    return { fault: 'The payload is missing. A JWT with a detached payload cannot be verified.' }
  }
  if (!isBase64url(part)) {
    const fault = standardBase64Fault(part, subject)
    return { fault: fault ?? `${subject} is not a JSON object in base64url.` }
  }
  const bytes = Buffer.from(part, 'base64url')
  // Without a byte order mark, which many verifiers drop too.
  const text = decodeUtf8(bytes)
  const value = text === undefined ? undefined : parseObject(text)
  if (text === undefined || value === undefined) {
    if (/^ey[\w-]+\./.test(text ?? ''))
      return { fault: `${subject} is a token itself: check that.` }
    return { fault: `${subject} is not a JSON object in base64url.` }
  }
  const warnings = canonicalWarnings(part, subject)
  if (bytes[0] === 0xef) warnings.push(`${subject} begins with a byte order mark (BOM).`)
  const duplicate = duplicateMember(text)
  if (duplicate !== undefined) warnings.push(`${subject} has the member ${quote(duplicate)} twice.`)
  return { value, warnings }
}

/** RFC 4648 section 3.5: the unused bits of the last character are zero. */
function canonicalWarnings(part: string, subject: string): string[] {
  if (Buffer.from(part, 'base64url').toString('base64url') === part) return []
  return [`${subject} is not canonical base64url: unused bits of its last character are set.`]
}

function parseObject(text: string): Record<string, unknown> | undefined {
  const value = parseJson(text)
  return isObject(value) ? value : undefined
}
