/** The word as a POSIX shell takes it. */
export function shellQuoted(word: string): string {
  return /^[\w./@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
