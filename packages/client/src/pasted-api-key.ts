const secretPattern = /pubring_[0-9A-Za-z]{49}(?![0-9A-Za-z])/g

/**
 * The API key in a pasted text: with white space, quotes, `export PUBRING_API_KEY=`, `X-Api-Key:` or
 * `Bearer` around it, as in shell scripts, `.env` files and HTTP examples, or broken over two lines.
 * Undefined unless the text has exactly one.
 */
export function findPastedApiKey(text: string): string | undefined {
  for (const candidate of [text, text.replace(/\s+/g, '')]) {
    const found = new Set(candidate.match(secretPattern))
    // Two keys must not become one by joining the lines.
    if (found.size > 0) return found.size === 1 ? [...found][0] : undefined
  }
  return undefined
}
