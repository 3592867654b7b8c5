import type { Client, JwtKey } from '../../../client/src/index.ts'
import type { Session } from '../connection/session.ts'
import { fileError, requireKnown } from '../terminal/failures.ts'
import { writeAll } from '../terminal/terminal.ts'
import { recordEntry, type Source, type SourceEntry } from './entry.ts'

const format = 'pubring-export'

/** A key as the API lists it, with what restoring it needs besides. */
type ExportedKey = JwtKey & { publishedKid?: string }

/** A project with the keys that are exported of it. */
interface ExportedProject {
  id: string
  name: string
  keys: ExportedKey[]
}

const formats = {
  json: {
    start: (exportTime: string) =>
      `{\n  "format": "${format}",\n  "version": 1,\n  "exportTime": "${exportTime}",\n  "projects": [`,
    write({ id, name, keys }: ExportedProject, isFirst: boolean): string {
      const lines = keys.map((key) => `\n      ${JSON.stringify(key)}`)
      return `${isFirst ? '' : ','}\n    {"id": ${JSON.stringify(id)}, "name": ${JSON.stringify(name)}, "keys": [${lines.join(',')}]}`
    },
    end: '\n  ]\n}\n',
  },
  pem: { start: () => '', write: toPemBlocks, end: '' },
}

/**
 * Writes the keys of one project or of all to stdout, project by project; `json` can be
 * imported in full, and has the projects without keys, too.
 */
export async function exportKeys(
  session: Session,
  { all, format }: { all?: true; format: 'json' | 'pem' },
): Promise<void> {
  const { client, terminal } = session
  const { start, write, end } = formats[format]
  const projects = all ? client.projects.all() : [await client.projects.get(session.project)]
  let count = 0
  let keyCount = 0
  await writeAll(terminal, start(new Date(session.now()).toISOString()))
  for await (const { id, name } of projects) {
    const project = { id, name, keys: await keysOf(client, id) }
    await writeAll(terminal, write(project, count === 0))
    count += 1
    keyCount += project.keys.length
  }
  await writeAll(terminal, end)
  session.notify(`Exported keys: ${keyCount}, projects: ${count}.`)
}

/** Requests that are sent at once. */
const batchSize = 10

/** Reads each key by itself, because lists do not show the published kid. */
async function keysOf(client: Client, project: string): Promise<ExportedKey[]> {
  const listed = await client.keys.list(project)
  const keys: ExportedKey[] = []
  for (let start = 0; start < listed.length; start += batchSize) {
    const batch = listed.slice(start, start + batchSize)
    const read = await Promise.all(batch.map(({ id }) => client.keys.get(project, id)))
    for (const { details, ...key } of read) {
      const { publishedKid } = details
      keys.push(publishedKid === undefined ? key : { ...key, publishedKid })
    }
  }
  return keys
}

/** Blocks whose label is in the line before, as an import reads it. */
function toPemBlocks({ name, keys }: ExportedProject): string {
  return keys
    .map((key) => {
      const state = key.active ? 'active' : 'inactive'
      const comment = `# project ${name}, kid ${key.id}, ${key.algorithm}, ${state}`
      return `${comment}\n# ${key.label}\n${key.publicKeyPem}\n`
    })
    .join('')
}

export function isExport(document: object): boolean {
  return Reflect.get(document, 'format') === format
}

/** The keys of an export, and its projects. Throws for another version. */
export function readExport(document: object, name: string): Source {
  const { version, projects } = Object(document)
  if (version !== 1 || !Array.isArray(projects)) {
    throw fileError(`${name} is an export that this release cannot read: use a newer pubring.`)
  }
  const read = projects.map((value) => {
    const { id, name: project, keys } = Object(value)
    if (typeof id !== 'string' || typeof project !== 'string') {
      throw fileError(`${name} has a project without an id or without a name.`)
    }
    const entries = readKeys(Array.isArray(keys) ? keys : [], name)
    return {
      project: { id, name: project },
      entries: entries.map((entry) => ({ ...entry, project: id })),
    }
  })
  return {
    entries: read.flatMap(({ entries }) => entries),
    projects: read.map(({ project }) => project),
  }
}

const members = [
  'id',
  'kid',
  'projectId',
  'name',
  'label',
  'algorithm',
  'publicKeyPem',
  'active',
  'createTime',
  'updateTime',
  'expireTime',
  'publishedKid',
  'details',
]

/**
 * Keys as the API lists them. Throws for an unknown member or a state of another type: ignored, it
 * could make verifiers trust a key that the file has as inactive or expired.
 */
export function readKeys(keys: readonly unknown[], name: string): SourceEntry[] {
  return keys.map((value, index) => {
    const { id, label, publicKeyPem, active, ...others } = Object(value)
    const place = `${name}, key ${index + 1}`
    if (typeof publicKeyPem !== 'string' || typeof label !== 'string') {
      const detail = 'This is not a key of an export: publicKeyPem or label is missing.'
      return { place, label: String(label ?? ''), rejection: { code: 'invalid_entry', detail } }
    }
    requireKnown(Object.keys(Object(value)), members, `${place} has an unknown member`)
    if (active !== undefined && typeof active !== 'boolean') {
      throw fileError(`active of ${place} must be true or false.`)
    }
    const { expireTime = '' } = others
    if (typeof expireTime !== 'string') throw fileError(`expireTime of ${place} must be text.`)
    return recordEntry({ ...others, id, label, publicKeyPem, active: active !== false }, place)
  })
}
