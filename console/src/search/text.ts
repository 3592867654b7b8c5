import { decodePart } from '../keys/tokens.ts'

/** Longest text that is sent, in characters: more than the longest label and the largest RSA key in PEM. */
const maxLength = 4_096

type SearchText = {
  /** '' if nothing is to be sent. */
  query: string
  /** Says what was taken from the text, or why nothing was. */
  note?: string
}

/** Part of a JWT, or all of it: it begins with a JSON object in base64url (RFC 7519 section 3). */
const tokenPattern = /(?<![A-Za-z0-9_/+-])eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*/

/** A kid as log lines have it: `kid=orders-2026`, `"kid": "orders-2026"`, `key_id=orders-2026`. */
const kidPattern =
  /\b(?:kid\b["']?\s*[:= ]|key(?:[_-]?id)?\b["']?\s*[:=])\s*["']?([A-Za-z0-9._~:/+=@#-]+)/i

/** The kid of a token, which is never sent, or of a log line; otherwise the text itself. */
export function searchTextOf(entered: string): SearchText {
  const text = entered.trim()
  const [token] = tokenPattern.exec(text) ?? []
  if (token !== undefined) return ofToken(token)
  const [, kid] = kidPattern.exec(text) ?? []
  if (kid !== undefined) return { query: kid, note: `Searching for the kid of the text: ${kid}` }
  return { query: text.slice(0, maxLength) }
}

function ofToken(token: string): SearchText {
  const header = decodePart(token.split('.')[0])
  if (header === undefined) {
    return {
      query: '',
      note: 'This looks like a token, but its header cannot be read. It was not sent.',
    }
  }
  if (typeof header.kid !== 'string' || header.kid === '') {
    return {
      query: '',
      note: 'The header of this token names no key: it has no kid. The token was not sent.',
    }
  }
  return {
    query: header.kid,
    note: `Searching for the kid of the token: ${header.kid}. The token stays in this browser. “Check a token”, in the project of the key, says why it is rejected.`,
  }
}
