/** What the snippets contain of a project. */
export type Addresses = {
  issuer: string
  jwksUri: string
  /** The JWS algorithms of its active keys, without duplicates. */
  algorithms: string[]
}

/** The setup of one verifier. */
export type Snippet = {
  id: string
  title: string
  /** Where the text goes, and what to install. */
  file: string
  /** The setup; `AUDIENCE` is a placeholder for the `aud` of the service. */
  text: (addresses: Addresses) => string
  /** How long this setup trusts a deactivated key. */
  trust: string
  /** What else to know, in a sentence or two. */
  note: string
}

/** `'RS256', 'ES256'` */
export const quotedList = (values: string[], quote = "'"): string =>
  values.map((value) => `${quote}${value}${quote}`).join(', ')
