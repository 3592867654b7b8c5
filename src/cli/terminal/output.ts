import process from 'node:process'
import { redact } from '../../core/redaction.ts'
import type { Terminal } from './terminal.ts'

/** Writes to stderr, without secrets: a command line that is quoted back may hold one. */
export function writeError(
  text: string,
  stderr: { write(text: string): unknown } = process.stderr,
): void {
  stderr.write(redact(text))
}

/** Says something on stderr, in lines of its own; with `--json` nothing is said. */
export function notify({ stderr, quiet }: Terminal, text: string): void {
  if (quiet) return
  for (const line of text.split('\n')) stderr.write(`${escapeControls(line)}\n`)
}

const unseen = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/** What could move the cursor or turn the direction of a line is shown as its code point. */
export function escapeControls(text: string): string {
  return text.replace(
    unseen,
    (letter) => `\\u${(letter.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )
}

/** Writes all of the text, and resolves when it is out; rejects where it cannot be. */
export function writeAll({ stdout }: Terminal, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })
}

/** The result on stdout: one JSON document, or text for a person. */
export function printResult(
  { stdout }: Terminal,
  json: boolean | undefined,
  document: unknown,
  text: () => string,
): void {
  stdout.write(json === true ? `${JSON.stringify(document, null, 2)}\n` : text())
}

/** The word as a POSIX shell reads it back. */
export function quoteForShell(word: string): string {
  return /^[\w./@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
