/** Brackets and strings of a JSON text. A string followed by a colon is a member name. */
const tokens = /[{}[\]]|("[^"\\]*(?:\\.[^"\\]*)*")([ \t\r\n]*:)?/g

interface JsonStructure {
  /** The greatest nesting depth. */
  depth: number
  /**
   * The first member name (unescaped) that occurs twice in one object, or undefined. `JSON.parse` keeps
   * the last value, other parsers the first (RFC 8259 section 4).
   */
  duplicate: string | undefined
}

/** What `JSON.parse` does not tell of a text, which must be valid JSON. */
export function structureOf(text: string): JsonStructure {
  const open: (Set<string> | undefined)[] = []
  const structure: JsonStructure = { depth: 0, duplicate: undefined }
  for (const [token, string, colon] of text.matchAll(tokens)) {
    if (token === '{') open.push(new Set())
    else if (token === '[') open.push(undefined)
    else if (token === '}' || token === ']') open.pop()
    else if (string !== undefined && colon !== undefined) {
      const name = String(JSON.parse(string))
      const names = open.at(-1)
      if (names?.has(name)) structure.duplicate ??= name
      names?.add(name)
    }
    structure.depth = Math.max(structure.depth, open.length)
  }
  return structure
}

const [quote, backslash, comma, bracket, brace] = Buffer.from('"\\,[{')

/**
 * Whether a JSON text holds more than `limit` values. Counts commas and opening brackets outside
 * strings before parsing, because parsing millions of values takes a second.
 */
export function holdsMoreValues(bytes: Uint8Array, limit: number): boolean {
  let count = 0
  let inString = false
  for (let at = 0; at < bytes.length && count <= limit; at += 1) {
    const byte = bytes[at]
    if (byte === quote) inString = !inString
    else if (!inString) count += byte === comma || byte === bracket || byte === brace ? 1 : 0
    else if (byte === backslash) at += 1
  }
  return count > limit
}
