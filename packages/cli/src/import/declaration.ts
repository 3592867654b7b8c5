import { dirname, resolve } from 'node:path'
import { type Algorithm, algorithmNames } from '@pubring/intake/algorithms'
import { isoTime, parseTimeMs } from '@pubring/server/kernel/values/times'
import { isObject } from '@pubring/server/runtime/json'
import { fileError, parseChoice, requireKnown } from '../terminal/failures.ts'
import { readText, sourceName } from '../terminal/files.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { type KeyRecord, readKeyRecord, recordEntry, type SourceEntry } from './entry.ts'
import { readMaterial } from './rows.ts'

const example = '{"project": "payments", "keys": [{"label": "spring", "file": "spring.pem"}]}'

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
  const document = await parseDeclaration(await readText(file, terminal), source)
  requireKnown(Object.keys(document), ['project', 'keys'], `${source} has an unknown member`)
  const { project, keys } = document
  if (!Array.isArray(keys)) throw fileError(`${source} must have a list named keys.`, example)
  if (project !== undefined && typeof project !== 'string') {
    throw fileError(`project in ${source} must be the id or the name of a project.`)
  }
  const folder = file === '-' ? '.' : dirname(file)
  const readPem = (name: string) => readText(resolve(folder, name), terminal)
  const read = (key: unknown, index: number) => readKey(key, `${source}, key ${index + 1}`, readPem)
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

/** `readPem` reads a file that is named relative to the declaration. */
async function readKey(
  value: unknown,
  place: string,
  readPem: (file: string) => Promise<string>,
): Promise<DeclaredKey> {
  const { file, ...record } = readKeyRecord(value, members, place)
  const { label, active, publishedKid, algorithm } = record
  if (label === undefined) throw fileError(`${place} must have a label.`)
  const { expireTime: end } = record
  const expireTime = typeof end === 'string' ? readTime(end, place) : end
  if ((record.publicKeyPem === undefined) === (file === undefined)) {
    throw fileError(`${place} must have either publicKeyPem or file.`)
  }
  const publicKeyPem = record.publicKeyPem ?? (await readPem(file ?? ''))
  const key = { label: label.trim(), publicKeyPem, active, expireTime, publishedKid }
  const entry = recordEntry(key, place)
  if ('key' in entry) entry.key.algorithm = algorithmOf(algorithm, publicKeyPem, place)
  return { entry, declared: { active, expireTime } }
}

function readTime(text: string, place: string): string {
  const time = parseTimeMs(text)
  if (time !== undefined) return isoTime(time)
  throw fileError(`expireTime of ${place} must be null or a time such as 2027-05-01T12:00:00Z.`)
}

function algorithmOf(named: string | undefined, publicKeyPem: string, place: string): Algorithm {
  if (named !== undefined) {
    return parseChoice(named, algorithmNames, `algorithm of ${place}`, fileError)
  }
  const usual = readMaterial(publicKeyPem)?.algorithms[0]
  if (usual !== undefined) return usual
  throw fileError(`${place} holds no public key that can be read: use PEM.`)
}
