/** Brackets and strings of a JSON text. A string followed by a colon is a member name. */
const tokens = /[{}[\]]|("[^"\\]*(?:\\.[^"\\]*)*")([ \t\r\n]*:)?/g

/** The greatest nesting depth of the text, which must be valid JSON. */
export function nestingDepth(text: string): number {
  let depth = 0
  let deepest = 0
  for (const [token] of text.matchAll(tokens)) {
    if (token === '{' || token === '[') deepest = Math.max(deepest, ++depth)
    else if (token === '}' || token === ']') depth--
  }
  return deepest
}

/**
 * The first member name (unescaped) that occurs twice in one object, or undefined. `JSON.parse`
 * keeps the last value, other parsers the first (RFC 8259 section 4). The text must be valid JSON.
 */
export function duplicateMember(text: string): string | undefined {
  const open: (Set<string> | undefined)[] = []
  for (const [token, string, colon] of text.matchAll(tokens)) {
    if (token === '{') open.push(new Set())
    else if (token === '[') open.push(undefined)
    else if (token === '}' || token === ']') open.pop()
    else if (string !== undefined && colon !== undefined) {
      const name = String(JSON.parse(string))
      const names = open.at(-1)
      if (names?.has(name)) return name
      names?.add(name)
    }
  }
  return undefined
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
