/** What the snippets are filled with: the addresses of one project. */
export type Addresses = {
  /** The `iss` of its tokens. */
  issuer: string
  jwksUri: string
  /** The JWS algorithms that its active keys verify, each once. */
  algorithms: string[]
}

/** How one verifier is set up. */
export type Snippet = {
  id: string
  title: string
  /** Where the text goes, and what to install for it. */
  file: string
  /** The set-up; `AUDIENCE` stands for the `aud` that the service wants. */
  text: (addresses: Addresses) => string
  /** How long this set-up goes on trusting a key that was switched off. */
  trust: string
  /** What else to know, in a sentence or two. */
  note: string
}

/** `'RS256', 'ES256'` */
export const quotedList = (values: string[], quote = "'"): string =>
  values.map((value) => `${quote}${value}${quote}`).join(', ')
