import process from 'node:process'
import { redact } from '../core/redaction.ts'

/** Writes to stderr, without secrets: a command line that is quoted back may hold one. */
export function complain(text: string): void {
  process.stderr.write(redact(text))
}
