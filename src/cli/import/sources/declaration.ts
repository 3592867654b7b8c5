import { dirname, resolve } from 'node:path'
import { algorithmNames } from '../../../contract/algorithms.ts'
import { isoTime, parseTimeMs } from '../../../core/times.ts'
import { fileError, parseChoice, requireKnown } from '../../terminal/failures.ts'
import { readText, sourceName } from '../../terminal/files.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { readMaterial } from '../material.ts'
import { readDocument, recordEntry, type SourceEntry } from './entry.ts'

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
  if (!Array.isArray(keys)) throw fileError(`${source} must have a list named keys.`, example)
  if (project !== undefined && typeof project !== 'string') {
    throw fileError(`project in ${source} must be the id or the name of a project.`)
  }
  const folder = file === '-' ? '.' : dirname(file)
  const readPem = (name: string) => readText(resolve(folder, name), terminal)
  const entries: SourceEntry[] = []
  for (const [index, key] of keys.entries()) {
    entries.push(await readKey(key, `${source}, key ${index + 1}`, readPem))
  }
  return { project, entries }
}

/** The types of the members of a declared key. */
const members: Readonly<Record<string, string>> = {
  name: 'string',
  algorithm: 'string',
  publicKeyPem: 'string',
  file: 'string',
  active: 'boolean',
  expireTime: 'string',
  publishedKid: 'string',
}

/** `readPem` reads a file that is named relative to the declaration. */
async function readKey(
  value: unknown,
  place: string,
  readPem: (file: string) => Promise<string>,
): Promise<SourceEntry> {
  if (typeof value !== 'object' || value === null) throw fileError(`${place} must be an object.`)
  requireKnown(Object.keys(value), Object.keys(members), `${place} has an unknown member`)
  for (const [member, content] of Object.entries(value)) {
    if (typeof content === members[member]) continue
    const type = members[member] === 'boolean' ? 'true or false' : 'text'
    throw fileError(`${member} of ${place} must be ${type}.`)
  }
  const { name, active = true, expireTime, file, publicKeyPem: inline, ...others } = Object(value)
  if (name === undefined) throw fileError(`${place} must have a name.`)
  const time = expireTime === undefined ? undefined : parseTimeMs(expireTime)
  if (expireTime !== undefined && time === undefined) {
    throw fileError(`expireTime of ${place} must be a time such as 2027-05-01T12:00:00Z.`)
  }
  if ((inline === undefined) === (file === undefined)) {
    throw fileError(`${place} must have either publicKeyPem or file.`)
  }
  const publicKeyPem: string = inline ?? (await readPem(file))
  const record = { label: name.trim(), publicKeyPem, active, publishedKid: others.publishedKid }
  const entry = recordEntry(
    { ...record, expireTime: time === undefined ? time : isoTime(time) },
    place,
  )
  if ('key' in entry) entry.key.algorithm = algorithmOf(others, publicKeyPem, place)
  return entry
}

function algorithmOf({ algorithm }: { algorithm?: string }, publicKeyPem: string, place: string) {
  if (algorithm !== undefined)
    return parseChoice(algorithm, algorithmNames, `algorithm of ${place}`, fileError)
  const usual = readMaterial(publicKeyPem)?.algorithms[0]
  if (usual !== undefined) return usual
  throw fileError(`${place} holds no public key that can be read: use PEM.`)
}
