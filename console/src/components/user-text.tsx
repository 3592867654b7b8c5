/** Characters that reorder the text around them or are invisible (UAX #9, general category Cf). */
const formatControls = /[\u2028\u2029\p{Cf}]/gu

/** Shows what would reorder or hide text as `[U+202E]`. ZWJ and soft hyphens stay: emoji and words have them. */
export function withVisibleControls(text: string): string {
  return text.replace(formatControls, (character) =>
    /[\u00ad\u200c\u200d]|[\u{e0020}-\u{e007f}]/u.test(character)
      ? character
      : `[U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
  )
}

/** Text that a user or another system wrote. It cannot change how the text around it is read. */
export function UserText({ children, mono }: { children: string; mono?: boolean }) {
  return <bdi className={mono ? 'mono' : undefined}>{withVisibleControls(children)}</bdi>
}

/** A name in quotation marks, for plain text such as the title of a dialog. */
export const quoted = (name: string): string => `“${withVisibleControls(name)}”`
