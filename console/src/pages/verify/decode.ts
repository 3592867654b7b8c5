type JsonObject = Record<string, unknown>

/** What a token says of itself, read in the browser; undefined where it is no JWT (RFC 7519). */
export function decodeToken(token: string): { header: JsonObject; claims: JsonObject } | undefined {
  const parts = token.trim().split('.')
  if (parts.length !== 3) return undefined
  const header = objectOf(parts[0])
  const claims = objectOf(parts[1])
  return header && claims && { header, claims }
}

function objectOf(part: string | undefined): JsonObject | undefined {
  try {
    const base64 = (part ?? '').replaceAll('-', '+').replaceAll('_', '/')
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
