import { dirname, resolve } from 'node:path'
import { isoTime, parseTimeMs } from '../../../core/times.ts'
import { parseAlgorithm } from '../../keys/kinds.ts'
import { usageError } from '../../terminal/failures.ts'
import { readText, sourceName } from '../../terminal/files.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { readMaterial } from '../material.ts'
import { readDocument, recordEntry, requireKnown, type SourceEntry } from './entry.ts'

const example = '{"project": "payments", "keys": [{"name": "spring", "file": "spring.pem"}]}'

/**
 * Reads the keys that a project should have, and the project if the file names one. Throws a usage
 * error that names the invalid key.
 */
export async function readDeclaration(file: string, terminal: Terminal) {
  const source = sourceName(file)
  const document = readDocument(await readText(file, terminal), source, example)
  requireKnown(Object.keys(document), ['project', 'keys'], `${source} has an unknown member`)
  const { project, keys }: { project?: unknown; keys?: unknown } = document
  if (!Array.isArray(keys)) throw usageError(`${source} must have a list named keys.`, example)
  if (project !== undefined && typeof project !== 'string') {
    throw usageError(`project in ${source} must be the id or the name of a project.`)
  }
  const folder = file === '-' ? '.' : dirname(file)
  const readPem = (name: string) => readText(resolve(folder, name), terminal)
  const entries: SourceEntry[] = []
  for (const [index, key] of keys.entries()) {
    entries.push(await readKey(key, `${source}, key ${index + 1}`, readPem))
  }
  return { project, entries }
}

const members = [
  'name',
  'algorithm',
  'publicKeyPem',
  'file',
  'active',
  'expireTime',
  'publishedKid',
]

/** `readPem` reads a file that is named relative to the declaration. */
async function readKey(
  value: unknown,
  place: string,
  readPem: (file: string) => Promise<string>,
): Promise<SourceEntry> {
  if (typeof value !== 'object' || value === null) throw usageError(`${place} must be an object.`)
  requireKnown(Object.keys(value), members, `${place} has an unknown member`)
  const {
    name,
    active = true,
    expireTime,
    file,
    publicKeyPem: inline,
    publishedKid,
  } = Object(value)
  if (typeof name !== 'string') throw usageError(`${place} must have a name.`)
  if (typeof active !== 'boolean') throw usageError(`active of ${place} must be true or false.`)
  const time = typeof expireTime === 'string' ? parseTimeMs(expireTime) : undefined
  if (expireTime !== undefined && time === undefined) {
    throw usageError(`expireTime of ${place} must be a time such as 2027-05-01T12:00:00Z.`)
  }
  if (publishedKid !== undefined && typeof publishedKid !== 'string') {
    throw usageError(`publishedKid of ${place} must be text.`)
  }
  const isInline = typeof inline === 'string' && file === undefined
  if (!isInline && (typeof file !== 'string' || inline !== undefined)) {
    throw usageError(`${place} must have either publicKeyPem or file.`)
  }
  const publicKeyPem: string = isInline ? inline : await readPem(file)
  const record = { label: name.trim(), publicKeyPem, active, publishedKid }
  const entry = recordEntry(
    { ...record, expireTime: time === undefined ? time : isoTime(time) },
    place,
  )
  if ('key' in entry) entry.key.algorithm = algorithmOf(value, publicKeyPem, place)
  return entry
}

function algorithmOf(value: { algorithm?: unknown }, publicKeyPem: string, place: string) {
  const { algorithm } = value
  if (algorithm !== undefined) return parseAlgorithm(String(algorithm), `algorithm of ${place}`)
  const usual = readMaterial(publicKeyPem)?.algorithms[0]
  if (usual !== undefined) return usual
  throw usageError(`${place} holds no public key that can be read: use PEM.`)
}
