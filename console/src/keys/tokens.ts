import { decodeBase64 } from './der.ts'

type JsonObject = Record<string, unknown>

/** The unverified header and claims of a token; undefined if it is not a JWT (RFC 7519). */
export function decodeToken(token: string): { header: JsonObject; claims: JsonObject } | undefined {
  const parts = token.trim().split('.')
  if (parts.length !== 3) return undefined
  const header = decodePart(parts[0])
  const claims = decodePart(parts[1])
  return header && claims && { header, claims }
}

export function decodePart(part = ''): JsonObject | undefined {
  const bytes = decodeBase64(part)
  if (bytes === undefined) return undefined
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
