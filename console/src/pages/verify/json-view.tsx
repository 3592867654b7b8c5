import { Code } from '@mantine/core'

const tokenPattern = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g

type Token = { offset: number; text: string; kind?: 'name' | 'string' | 'other' }

/** Splits JSON into names, strings, other values and the text between them. */
function tokenize(json: string): Token[] {
  const tokens: Token[] = []
  let end = 0
  for (const match of json.matchAll(tokenPattern)) {
    const [whole, quoted, colon] = match
    if (match.index > end) tokens.push({ offset: end, text: json.slice(end, match.index) })
    const kind = quoted === undefined ? 'other' : colon === undefined ? 'string' : 'name'
    tokens.push({ offset: match.index, text: whole, kind })
    end = match.index + whole.length
  }
  if (end < json.length) tokens.push({ offset: end, text: json.slice(end) })
  return tokens
}

/** The JSON escapes of characters that would reorder or hide text. */
function withEscapedControls(json: string): string {
  return json.replace(/[\u2028\u2029\p{Cf}]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`
    }).join(''),
  )
}

/** An object as indented JSON with syntax colors. */
export function JsonView({ value, label }: { value: Record<string, unknown>; label: string }) {
  return (
    <Code block tabIndex={0} aria-label={label} role="group" className="json">
      {tokenize(withEscapedControls(JSON.stringify(value, null, 2))).map(
        ({ offset, text, kind }) => (
          <span key={offset} className={kind && `json-${kind}`}>
            {text}
          </span>
        ),
      )}
    </Code>
  )
}
