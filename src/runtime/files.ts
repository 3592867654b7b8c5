import { readFileSync } from 'node:fs'

/** The first line of a text file, without its end. Throws the system's error. */
export function readFirstLine(file: string): string {
  const [line = ''] = readFileSync(file, 'utf8').split(/\r?\n/)
  return line
}

/**
 * Reads now, so that an unreadable file is an error at once, and again at each call. While reading
 * fails, for example during the replacement of a file, returns the last content.
 */
export function followFile(read: () => string): () => string {
  let last = read()
  return () => {
    try {
      last = read()
    } catch {
      // The last content stays in use.
    }
    return last
  }
}
