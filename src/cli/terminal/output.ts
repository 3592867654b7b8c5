import process from 'node:process'
import { redact } from '../../core/redaction.ts'
import type { Terminal } from './terminal.ts'

/** Writes to stderr without secrets, which a quoted command line may contain. */
export function writeError(
  text: string,
  stderr: { write(text: string): unknown } = process.stderr,
): void {
  stderr.write(redact(text))
}

/** Writes a message to stderr, unless `-o json` or `-o yaml` silences it. */
export function notify({ stderr, json }: Terminal, text: string): void {
  if (json) return
  for (const line of text.split('\n')) stderr.write(`${escapeControls(line)}\n`)
}

const controls = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/** Shows characters that move the cursor or change the text direction as their code points. */
export function escapeControls(text: string): string {
  return text.replace(
    controls,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )
}

/** Resolves once all of the text is written to stdout; rejects if it cannot be. */
export function writeAll({ stdout }: Terminal, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })
}

/** Writes the result to stdout: the document with `-o json` or `-o yaml`, else the text. */
export function printResult(terminal: Terminal, document: unknown, text = () => ''): void {
  terminal.stdout.write(terminal.json ? formatDocument(terminal, document) : text())
}

/** JSON, or YAML with `-o yaml`; ends with a line break. */
export function formatDocument({ stringify }: Terminal, document: unknown): string {
  return stringify?.(document) ?? `${JSON.stringify(document, null, 2)}\n`
}

/** Quotes the word for a POSIX shell, if it needs quotes. */
export function quoteForShell(word: string): string {
  return /^[\w./@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** `--token-lifetime`, for `tokenLifetime`. */
export function toFlag(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** `1 key`, `2 keys`. */
export function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
