/** The values of a project, and of the service that verifies its tokens, for the snippets. */
export type Verifier = {
  issuer: string
  jwksUri: string
  /** The JWS algorithms of the active keys, without duplicates. */
  algorithms: string[]
  /** The `aud` of the service. */
  audience: string
}

/** The setup of one verifier. The tests run every one against a real server. */
export type Snippet = {
  id: string
  title: string
  /** Where the text goes, and what to install. */
  file: string
  text: (verifier: Verifier) => string
  /** How long this setup trusts a deactivated key. */
  trust: string
  /** Further advice, in a sentence or two. */
  note: string
}

/** A string literal of JavaScript and of Python. */
export function literal(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${inner}'`
}

/** `'RS256', 'ES256'` */
export const literals = (texts: string[]): string => texts.map(literal).join(', ')

/** A string in double quotes in the configuration of HAProxy, where $ starts a variable. */
export function haproxyString(text: string): string {
  return `"${text.replace(/[\\"$]/g, '\\$&')}"`
}
