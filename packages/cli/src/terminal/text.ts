import truncatedWidth from 'fast-string-truncated-width'

/** Whether a text is a token in the compact form of a JWS or JWE. */
export function isToken(text: string): boolean {
  return /^ey[\w-]+\.[\w-]+\.[\w.-]*$/.test(text)
}

/** Columns of a terminal. */
export function textWidth(text: string): number {
  return truncatedWidth(text).width
}

/** The text with its middle replaced by `…` if it is wider: names differ at their ends. */
export function cutMiddle(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  const characters = Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment)
  const head = takeWidth(characters, Math.ceil((width - 1) / 2))
  const tail = takeWidth(characters.toReversed(), width - 1 - textWidth(head.join('')))
  return [...head, '…', ...tail.toReversed()].join('')
}

function takeWidth(characters: readonly string[], width: number): string[] {
  const taken: string[] = []
  for (let left = width; ; ) {
    const next = characters[taken.length] ?? ''
    left -= textWidth(next)
    if (next === '' || left < 0) return taken
    taken.push(next)
  }
}

/** The text in lines that are broken between words; those after the first are indented. */
export function wrapWords(text: string, width: number, indent: string): string {
  let line = ''
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && textWidth(longer) > width - indent.length) {
      lines.push(line)
      line = word
    } else line = longer
  }
  return [...lines, line].join(`\n${indent}`)
}
