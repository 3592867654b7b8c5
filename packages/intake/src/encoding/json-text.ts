/** Brackets and strings of a JSON text. A string followed by a colon is a member name. */
const tokens = /[{}[\]]|("[^"\\]*(?:\\.[^"\\]*)*")([ \t\r\n]*:)?/g

/**
 * The first member name (unescaped) that occurs twice in one object of a text, which must be valid JSON;
 * undefined if there is none. `JSON.parse` keeps the last value, other parsers the first (RFC 8259 section 4).
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

/** How much a JSON text may hold. */
export interface JsonBounds {
  /** Values in all. */
  values: number
  /** Members of one object. */
  members: number
  /** Levels of objects and lists. */
  levels: number
}

const [quote, backslash, comma, bracket, brace, endBracket, endBrace] = Buffer.from('"\\,[{]}')

/**
 * The bound that a JSON text exceeds, if any. Counts commas and brackets outside strings before parsing:
 * parsing millions of values, or an object of 100,000 names, takes a second.
 */
export function exceededBound(
  bytes: Uint8Array,
  { values, members, levels }: JsonBounds,
): keyof JsonBounds | undefined {
  /** Members of each open object, and 0 for each open list. */
  const open: number[] = []
  let count = 0
  let inString = false
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === quote) inString = !inString
    else if (inString) at += byte === backslash ? 1 : 0
    else if (byte === comma) {
      count += 1
      const own = open.at(-1) ?? 0
      if (own === members) return 'members'
      if (own > 0) open[open.length - 1] = own + 1
    } else if (byte === bracket || byte === brace) {
      count += 1
      if (open.push(byte === brace ? 1 : 0) > levels) return 'levels'
    } else if (byte === endBracket || byte === endBrace) open.pop()
    if (count > values) return 'values'
  }
  return undefined
}
