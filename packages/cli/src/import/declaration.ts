import { isUtf8 } from 'node:buffer'
import { dirname, resolve } from 'node:path'
import { type Algorithm, algorithmNames } from '@pubring/intake/algorithms'
import { isoTime, parseTimeMs } from '@pubring/server/kernel/values/times'
import { isObject } from '@pubring/server/runtime/json'
import { present } from '@pubring/server/runtime/present'
import { isDer } from '../keys/files.ts'
import { fileError, parseChoice, requireKnown } from '../terminal/failures.ts'
import { readBytes, sourceName } from '../terminal/files.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { convert, type KeyRecord, readEntry, readKeyRecord, type SourceEntry } from './entry.ts'

const example =
  'For example: {"project": "payments", "keys": [{"label": "spring", "file": "spring.pem"}]}'

interface DeclaredKey {
  entry: SourceEntry
  /** The state of the key in the file; members that it leaves out are undefined. */
  declared: Pick<KeyRecord, 'active' | 'expireTime'>
}

/**
 * Reads the keys that a project should have, from JSON or YAML, and the project if the file names one. Throws a usage
 * error that names the invalid key.
 */
export async function readDeclaration(file: string, terminal: Terminal) {
  const source = sourceName(file)
  const bytes = await readBytes(file, terminal)
  if (!isUtf8(bytes)) throw fileError(`${source} is not UTF-8: save it as UTF-8.`)
  const document = await parseDeclaration(bytes.toString('utf8').replace(/^\uFEFF/, ''), source)
  requireKnown(Object.keys(document), ['project', 'keys'], `${source} has an unknown member`)
  const { project, keys } = document
  if (!Array.isArray(keys)) throw fileError(`${source} must have a list named keys.`, example)
  if (project !== undefined && typeof project !== 'string') {
    throw fileError(`project in ${source} must be the id or the name of a project.`)
  }
  const folder = file === '-' ? '.' : dirname(file)
  const read = (key: unknown, index: number) =>
    readKey(key, `${source}, key ${index + 1}`, folder, terminal)
  return { project, keys: await Array.fromAsync(keys, read) }
}

/** Parses a declaration. Its errors do not quote the text, which may hold a private key. */
async function parseDeclaration(text: string, name: string): Promise<Record<string, unknown>> {
  const { parseDocument } = await import('yaml')
  const document = parseDocument(text)
  const [error] = document.errors
  const value: unknown = error === undefined ? document.toJS() : undefined
  if (isObject(value)) return value
  const line = error?.linePos?.[0].line
  const place = line === undefined ? '' : ` (line ${line})`
  throw fileError(`${name} is not valid JSON or YAML${place}.`, example)
}

const members = [
  ...['label', 'algorithm', 'publicKeyPem', 'file'],
  ...['active', 'expireTime', 'publishedKid'],
]

/** `folder` is that of the declaration, which files are relative to. */
async function readKey(
  value: unknown,
  place: string,
  folder: string,
  terminal: Terminal,
): Promise<DeclaredKey> {
  const { file, ...record } = readKeyRecord(value, members, place)
  const { label, active, publishedKid } = record
  if (label === undefined) throw fileError(`${place} must have a label.`)
  const { expireTime: end } = record
  const expireTime = typeof end === 'string' ? readTime(end, place) : end
  if ((record.publicKeyPem === undefined) === (file === undefined)) {
    throw fileError(`${place} must have either publicKeyPem or file.`)
  }
  const algorithm = algorithmOf(record, place)
  const path = file === undefined ? undefined : resolve(folder, file)
  const bytes =
    path === undefined ? Buffer.from(record.publicKeyPem ?? '') : await readBytes(path, terminal)
  const text = bytes.toString(isDer(bytes) ? 'base64' : 'utf8')
  const entry = readEntry({ place, label: label.trim(), text, publishedKid }, () => {
    const content = convert(bytes, path ?? place)
    if ('rejection' in content) return content
    const { expireTime: exp, ...key } = content.key
    const end = expireTime === undefined ? exp : (expireTime ?? undefined)
    const declared = present({ algorithm, active, publishedKid, expireTime: end })
    return { ...content, key: { ...key, ...declared } }
  })
  return { entry, declared: { active, expireTime } }
}

function readTime(text: string, place: string): string {
  const time = parseTimeMs(text)
  if (time !== undefined) return isoTime(time)
  throw fileError(`expireTime of ${place} must be null or a time such as 2027-05-01T12:00:00Z.`)
}

function algorithmOf({ algorithm }: KeyRecord, place: string): Algorithm | undefined {
  if (algorithm === undefined) return undefined
  return parseChoice(algorithm, algorithmNames, `algorithm of ${place}`, fileError)
}
