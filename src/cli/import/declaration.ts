import { dirname, resolve } from 'node:path'
import { algorithmNames } from '../../contract/algorithms.ts'
import { isoTime, parseTimeMs } from '../../core/times.ts'
import { fileError, parseChoice, requireKnown } from '../terminal/failures.ts'
import { readText, sourceName } from '../terminal/files.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { recordEntry, type SourceEntry } from './entry.ts'
import { readMaterial } from './rows.ts'

const example = '{"project": "payments", "keys": [{"label": "spring", "file": "spring.pem"}]}'

/** The state of a key in a file; members that it leaves out are undefined. */
export interface DeclaredState {
  active?: boolean
  /** `null` for never. */
  expireTime?: string | null
}

interface DeclaredKey {
  entry: SourceEntry
  declared: DeclaredState
}

/**
 * Reads the keys that a project should have, from JSON or YAML, and the project if the file names one. Throws a usage
 * error that names the invalid key.
 */
export async function readDeclaration(file: string, terminal: Terminal) {
  const source = sourceName(file)
  const document = await parseDeclaration(await readText(file, terminal), source)
  requireKnown(Object.keys(document), ['project', 'keys'], `${source} has an unknown member`)
  const { project, keys }: { project?: unknown; keys?: unknown } = document
  if (!Array.isArray(keys)) throw fileError(`${source} must have a list named keys.`, example)
  if (project !== undefined && typeof project !== 'string') {
    throw fileError(`project in ${source} must be the id or the name of a project.`)
  }
  const folder = file === '-' ? '.' : dirname(file)
  const readPem = (name: string) => readText(resolve(folder, name), terminal)
  const read = (key: unknown, index: number) => readKey(key, `${source}, key ${index + 1}`, readPem)
  return { project, keys: await Array.fromAsync(keys, read) }
}

/** Without quoting the text in an error: it may hold a private key. */
async function parseDeclaration(text: string, name: string): Promise<object> {
  const { parseDocument } = await import('yaml')
  const document = parseDocument(text)
  const [error] = document.errors
  const value: unknown = error === undefined ? document.toJS() : undefined
  if (typeof value === 'object' && value !== null) return value
  const line = error?.linePos?.[0].line
  const place = line === undefined ? '' : ` (line ${line})`
  throw fileError(`${name} is not valid JSON or YAML${place}.`, example)
}

/** The types of the members of a declared key. */
const members: Readonly<Record<string, string>> = {
  label: 'string',
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
): Promise<DeclaredKey> {
  if (typeof value !== 'object' || value === null) throw fileError(`${place} must be an object.`)
  requireKnown(Object.keys(value), Object.keys(members), `${place} has an unknown member`)
  for (const [member, content] of Object.entries(value)) {
    if (typeof content === members[member]) continue
    if (member === 'expireTime' && content === null) continue
    const type = members[member] === 'boolean' ? 'true or false' : 'text'
    throw fileError(`${member} of ${place} must be ${type}.`)
  }
  const { label, active, expireTime, file, publicKeyPem: inline, ...others } = Object(value)
  if (label === undefined) throw fileError(`${place} must have a label.`)
  const time = parseTimeMs(expireTime ?? '')
  if (typeof expireTime === 'string' && time === undefined) {
    throw fileError(`expireTime of ${place} must be null or a time such as 2027-05-01T12:00:00Z.`)
  }
  if ((inline === undefined) === (file === undefined)) {
    throw fileError(`${place} must have either publicKeyPem or file.`)
  }
  const publicKeyPem: string = inline ?? (await readPem(file))
  const until = time === undefined ? expireTime : isoTime(time)
  const record = { label: label.trim(), publicKeyPem, active, expireTime: until }
  const entry = recordEntry({ ...record, publishedKid: others.publishedKid }, place)
  if ('key' in entry) entry.key.algorithm = algorithmOf(others, publicKeyPem, place)
  return { entry, declared: { active, expireTime: until } }
}

function algorithmOf({ algorithm }: { algorithm?: string }, publicKeyPem: string, place: string) {
  if (algorithm !== undefined)
    return parseChoice(algorithm, algorithmNames, `algorithm of ${place}`, fileError)
  const usual = readMaterial(publicKeyPem)?.algorithms[0]
  if (usual !== undefined) return usual
  throw fileError(`${place} holds no public key that can be read: use PEM.`)
}
