import type { JwtKey } from '../../../../client/src/index.ts'
import { fileError, requireKnown } from '../../terminal/failures.ts'
import { recordEntry, type Source, type SourceEntry } from './entry.ts'

const format = 'pubring-export'

/** A key as the API lists it, with what restoring it needs besides. */
export type ExportedKey = JwtKey & { publishedKid?: string }

/** A project with the keys that are exported of it. */
export interface ExportedProject {
  id: string
  name: string
  keys: ExportedKey[]
}

/** The parts of the document that `pubring export` writes and `pubring import` reads. */
export const exportParts = {
  start: (exportTime: string) =>
    `{\n  "format": "${format}",\n  "version": 1,\n  "exportTime": "${exportTime}",\n  "projects": [`,
  project({ keys, ...project }: ExportedProject, isFirst: boolean): string {
    const lines = keys.map((key) => `\n      ${JSON.stringify(key)}`)
    const { id, name } = project
    return `${isFirst ? '' : ','}\n    {"id": ${JSON.stringify(id)}, "name": ${JSON.stringify(name)}, "keys": [${lines.join(',')}]}`
  },
  end: '\n  ]\n}\n',
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
