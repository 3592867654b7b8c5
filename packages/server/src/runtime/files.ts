import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** The first line of a text file, without its end. Throws the system's error. */
export function readFirstLine(file: string): string {
  const [line = ''] = readBounded(file).toString('utf8').split(/\r?\n/)
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

/** For files that a person writes, such as settings and certificates. */
const defaultMaxBytes = 1024 * 1024

/** How long a pipe may be silent. */
const defaultMaxIdleMs = 60_000

const pollMs = 20

/**
 * Reads a file, which may be a pipe such as `<(command)`. Throws the system's error, EFBIG beyond
 * `maxBytes`, and ETIMEDOUT if a pipe is silent for too long.
 */
export function readBounded(
  file: string,
  maxBytes = defaultMaxBytes,
  maxIdleMs = defaultMaxIdleMs,
): Buffer {
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  const parts: Buffer[] = []
  for (const part of readParts(file, maxBytes, maxIdleMs)) {
    if (part === undefined) Atomics.wait(sleeper, 0, 0, pollMs)
    else parts.push(part)
  }
  return Buffer.concat(parts)
}

/** The same without blocking the event loop, so that a signal can interrupt it. */
export async function readBoundedAsync(file: string, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = []
  for (const part of readParts(file, maxBytes, defaultMaxIdleMs)) {
    if (part === undefined) await delay(pollMs)
    else parts.push(part)
  }
  return Buffer.concat(parts)
}

/** Yields undefined while there is nothing to read yet. */
function* readParts(
  file: string,
  maxBytes: number,
  maxIdleMs: number,
): Generator<Buffer | undefined, void> {
  // Without O_NONBLOCK the process would block until something opens the pipe for writing.
  const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const isPipe = fstatSync(descriptor).isFIFO()
    let length = 0
    let lastTime = performance.now()
    for (;;) {
      const part = readAvailable(descriptor)
      // A pipe is at its end, too, before something opens it for writing.
      if (part?.length === 0 && (length > 0 || !isPipe)) return
      if (part !== undefined && part.length > 0) {
        length += part.length
        if (length > maxBytes) throw fileError('EFBIG')
        lastTime = performance.now()
        yield part
      } else if (performance.now() - lastTime > maxIdleMs) throw fileError('ETIMEDOUT')
      else yield undefined
    }
  } finally {
    closeSync(descriptor)
  }
}

/** The next part, empty at the end; undefined if a pipe has nothing yet. */
function readAvailable(descriptor: number): Buffer | undefined {
  const part = Buffer.allocUnsafe(64 * 1024)
  try {
    return part.subarray(0, readSync(descriptor, part))
  } catch (error) {
    if (codeOf(error) === 'EAGAIN') return undefined
    throw error
  }
}

function fileError(code: string): Error {
  return Object.assign(new Error(code), { code })
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EISDIR: 'is a folder',
  EACCES: 'cannot be read by this user',
  EFBIG: 'is too large',
  ETIMEDOUT: 'is a pipe that nothing was written to in time',
}

/** Why a file could not be read, as the end of a sentence about it. */
export function unreadableReason(error: unknown): string {
  return reasons[String(codeOf(error))] ?? 'cannot be read'
}

/** There is no file at a path, or none of the kind that is read; the message is one line for a person. */
export class MissingFileError extends Error {
  override readonly name = 'MissingFileError'
}

/** A file that cannot be replaced while another process uses it. */
export class FileInUseError extends Error {
  override readonly name = 'FileInUseError'
}

/** The result of reading a file; throws the error made of `unreadableReason` if that fails. */
export function readOr<Content>(toError: (reason: string) => Error, read: () => Content): Content {
  try {
    return read()
  } catch (error) {
    throw toError(unreadableReason(error))
  }
}

/** Makes the content of a file, or the names in a folder, survive a power loss. */
export function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

/**
 * Creates the folder and its parents for their owner only. Throws the system's error. `mkdirSync`
 * with `recursive` does not return if a file system reports ENOENT for a folder that cannot be
 * created (`/proc`), hence one level at a time.
 */
export function makePrivateFolder(folder: string): void {
  if (existsSync(folder)) return
  makePrivateFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process may have created it.
    if (!existsSync(folder)) throw error
  }
}

/** Renames the file durably. Throws EEXIST if `to` exists, unless `replace` is set. */
export function moveIntoPlace(from: string, to: string, replace: boolean): void {
  if (replace) renameSync(from, to)
  else {
    linkSync(from, to)
    rmSync(from)
  }
  syncToDisk(dirname(to))
}

/** Throws one line for a person if the path leads to a folder, a device or a pipe. */
export function requireRegularFile(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) {
    throw new MissingFileError(`${file} is not a database, but a folder, a device or a pipe.`)
  }
}
