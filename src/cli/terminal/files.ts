import { readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { didYouMean } from '../../nearest.ts'
import { readBoundedAsync, unreadableReason } from '../../runtime/files.ts'
import { type CommandError, usageError } from './failures.ts'
import { notify } from './output.ts'
import type { Terminal } from './terminal.ts'

const defaultMaxBytes = 8 * 1024 * 1024

/** The bytes of the file, or of standard input for `-`. Throws a usage error if it cannot be read. */
export async function readBytes(
  file: string,
  terminal: Terminal,
  maxBytes = defaultMaxBytes,
): Promise<Buffer> {
  if (file !== '-') return readFile(file, maxBytes)
  const bytes = await readInput(terminal, maxBytes)
  if (bytes.length > maxBytes) throw tooLarge(file, maxBytes)
  return bytes
}

/** The file as messages name it. */
export function sourceName(file: string): string {
  return file === '-' ? 'Standard input' : file
}

/** Reads no further than the limit: a device or pipe may have no end. */
async function readFile(file: string, maxBytes: number): Promise<Buffer> {
  try {
    return await readBoundedAsync(file, maxBytes)
  } catch (error) {
    throw unreadable(file, error, maxBytes)
  }
}

function tooLarge(file: string, maxBytes: number): CommandError {
  return usageError(`${sourceName(file)} is too large: the limit is ${maxBytes} bytes.`)
}

function unreadable(file: string, error: unknown, maxBytes: number): CommandError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EFBIG') return tooLarge(file, maxBytes)
  if (code === 'ENOENT') return usageError(`There is no file ${file}${suggestSibling(file)}`)
  if (code === 'EISDIR') return usageError(`${file} is a folder: name the file of one key.`)
  if (code === 'EACCES') return usageError(`${file} cannot be read by this user.`)
  return usageError(`${file} ${unreadableReason(error)}.`)
}

function suggestSibling(file: string): string {
  try {
    return didYouMean(basename(file), readdirSync(dirname(file)))
  } catch {
    return '.'
  }
}

async function readInput(terminal: Terminal, maxBytes: number): Promise<Buffer> {
  if (terminal.stdin.isTTY === true) notify(terminal, 'Reading standard input; end with Ctrl-D.')
  return readStream(terminal.stdin as Readable, maxBytes)
}

/** The bytes of a stream, read no further than the first chunk beyond the limit. */
export async function readStream(
  stream: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stream) {
    chunks.push(Buffer.from(chunk))
    length += Buffer.byteLength(chunk)
    if (length > maxBytes) break
  }
  return Buffer.concat(chunks)
}
