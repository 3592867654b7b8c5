const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The text of the bytes, without a byte order mark; undefined if they are not valid UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

/** The value of a JSON text; undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether it is no array or object, or one with at most this many levels of them. */
export function isNestedWithin(value: unknown, levels: number): boolean {
  if (!(value instanceof Object)) return true
  return levels > 0 && Object.values(value).every((member) => isNestedWithin(member, levels - 1))
}
