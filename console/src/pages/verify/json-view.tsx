import { Code } from '@mantine/core'

const token = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g

type Piece = { at: number; text: string; kind?: 'name' | 'string' | 'other' }

/** JSON cut into names, strings, other values and what stands between; nothing is lost or added. */
function piecesOf(json: string): Piece[] {
  const pieces: Piece[] = []
  let done = 0
  for (const match of json.matchAll(token)) {
    const [whole, quoted, colon] = match
    if (match.index > done) pieces.push({ at: done, text: json.slice(done, match.index) })
    const kind = quoted === undefined ? 'other' : colon === undefined ? 'string' : 'name'
    pieces.push({ at: match.index, text: whole, kind })
    done = match.index + whole.length
  }
  if (done < json.length) pieces.push({ at: done, text: json.slice(done) })
  return pieces
}

/** An object as indented JSON in colours; text throughout. */
export function JsonText({ value, label }: { value: Record<string, unknown>; label: string }) {
  return (
    <Code block tabIndex={0} aria-label={label} role="group" className="json">
      {piecesOf(JSON.stringify(value, null, 2)).map(({ at, text, kind }) => (
        <span key={at} className={kind && `json-${kind}`}>
          {text}
        </span>
      ))}
    </Code>
  )
}
