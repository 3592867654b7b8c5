import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { didYouMean } from '../../nearest.ts'
import { type CommandError, usageError } from './failures.ts'
import { notify } from './output.ts'
import type { Terminal } from './terminal.ts'

/** Octets that are read of a file or of standard input at most. */
const mostOctets = 8 * 1024 * 1024

/** The octets of the file; `-` is standard input. Throws a usage error where it cannot be read. */
export async function readBytes(
  file: string,
  terminal: Terminal,
  most = mostOctets,
): Promise<Buffer> {
  const octets = file === '-' ? await readInput(terminal, most) : readFile(file)
  if (octets.length > most)
    throw usageError(`${sourceName(file)} is too large to be what is wanted.`)
  return octets
}

/** For messages. */
export function sourceName(file: string): string {
  return file === '-' ? 'Standard input' : file
}

function readFile(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw unreadable(file, error)
  }
}

function unreadable(file: string, error: unknown): CommandError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOENT') return usageError(`There is no file ${file}${near(file)}`)
  if (code === 'EISDIR') return usageError(`${file} is a folder: name the file of one key.`)
  if (code === 'EACCES') return usageError(`${file} cannot be read by this user.`)
  return usageError(`${file} cannot be read.`)
}

/** The file beside it that was perhaps meant. */
function near(file: string): string {
  try {
    return didYouMean(basename(file), readdirSync(dirname(file)))
  } catch {
    return '.'
  }
}

async function readInput(terminal: Terminal, most: number): Promise<Buffer> {
  if (terminal.stdin.isTTY === true) notify(terminal, 'Reading standard input; Ctrl-D ends it.')
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of terminal.stdin as Readable) {
    chunks.push(Buffer.from(chunk))
    length += Buffer.byteLength(chunk)
    if (length > most) break
  }
  return Buffer.concat(chunks)
}
