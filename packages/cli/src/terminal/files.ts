import { createReadStream } from 'node:fs'
import {
  readBounded,
  readBoundedAsync,
  readOr,
  unreadableReason,
} from '@pubring/server/runtime/files'
import { CommandError, fileError } from './failures.ts'
import { notify, type Terminal } from './terminal.ts'

const defaultMaxBytes = 8 * 1024 * 1024

/** The bytes of the file, or of standard input for `-`. Throws if it cannot be read. */
export async function readBytes(
  file: string,
  terminal: Terminal,
  maxBytes = defaultMaxBytes,
): Promise<Buffer> {
  if (file === '-') return readInput(terminal, maxBytes)
  // No further than the limit: a device or pipe may have no end.
  return readBoundedAsync(file, maxBytes).catch((error: unknown) => {
    throw unreadable(file, error)
  })
}

/** The text of the file, or of standard input for `-`, without a byte order mark. */
export async function readText(file: string, terminal: Terminal): Promise<string> {
  return (await readBytes(file, terminal)).toString('utf8').replace(/^\uFEFF/, '')
}

/** More than any event or line of a log has. */
const maxLineLength = 1_048_576

/**
 * The lines of the file, or of standard input for `-`, of any size. Throws if it cannot be read. Does without
 * node:readline, for which U+2028 ends a line, too, and which reads a line without end.
 */
export async function* readLines(file: string, terminal: Terminal): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for await (const part of file === '-' ? terminal.stdin : createReadStream(file)) {
      const lines = `${rest}${decoder.decode(Buffer.from(part), { stream: true })}`.split('\n')
      rest = lines.pop() ?? ''
      yield* lines
      if (rest.length > maxLineLength) {
        throw fileError(`${sourceName(file)} has a line of more than 1 MiB.`)
      }
    }
  } catch (error) {
    throw error instanceof CommandError ? error : unreadable(file, error)
  }
  if (rest !== '') yield rest
}

/** The text of a file that a variable or option names, for example with a secret. */
export function readNamedFile(path: string, name: string): string {
  const toError = (reason: string) => fileError(`The file ${path} named by ${name} ${reason}.`)
  return readOr(toError, () => readBounded(path)).toString('utf8')
}

/** The file as messages name it. */
export function sourceName(file: string): string {
  return file === '-' ? 'Standard input' : file
}

function unreadable(file: string, error: unknown): CommandError {
  const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
  return isMissing
    ? fileError(`There is no file ${file}.`)
    : fileError(`${file} ${unreadableReason(error)}.`)
}

async function readInput(terminal: Terminal, maxBytes: number): Promise<Buffer> {
  const { stdin } = terminal
  if (stdin.isTTY === true) notify(terminal, 'Reading standard input; end with Ctrl-D.')
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stdin) {
    chunks.push(Buffer.from(chunk))
    length += Buffer.byteLength(chunk)
    if (length > maxBytes) throw fileError(`${sourceName('-')} is too large.`)
  }
  return Buffer.concat(chunks)
}
