/** Brackets and strings of a JSON text; a string that is followed by a colon is a member's name. */
const tokens = /[{}[\]]|("[^"\\]*(?:\\.[^"\\]*)*")([ \t\r\n]*:)?/g

/** How deep the text nests, at most. For valid JSON only. */
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
 * The first name that an object of the text has twice, once its escapes are read; undefined where
 * there is none. `JSON.parse` keeps the last one, other readers the first: they would disagree
 * about what was asked for (RFC 8259 section 4). For valid JSON only; no recursion.
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
 * Whether the octets of a JSON text hold more values than that, told by commas and opening brackets
 * outside of strings: known before it is parsed, which takes a second for some millions of them.
 */
export function holdsMoreValues(octets: Uint8Array, limit: number): boolean {
  let count = 0
  let inString = false
  for (let at = 0; at < octets.length && count <= limit; at += 1) {
    const octet = octets[at]
    if (octet === quote) inString = !inString
    else if (!inString) count += octet === comma || octet === bracket || octet === brace ? 1 : 0
    else if (octet === backslash) at += 1
  }
  return count > limit
}
