import type { JwtKey } from '../../../../client/src/index.ts'
import { usageError } from '../../terminal/failures.ts'
import { privateEntry, refusedEntry, type SourceEntry, type SourceProject } from './entry.ts'

/** What `pubring export` writes, and `pubring import` takes back. */
export interface ExportDocument {
  format: typeof format
  version: 1
  exportTime: string
  projects: { id: string; name: string; keys: JwtKey[] }[]
}

const format = 'pubring-export'

export function exportDocument(
  projects: ExportDocument['projects'],
  exportTime: string,
): ExportDocument {
  return { format, version: 1, exportTime, projects }
}

export function isExport(document: object): boolean {
  return Reflect.get(document, 'format') === format
}

/** The keys of an export, project by project. Throws where it is of another version. */
export function readExport(document: object, name: string): SourceProject[] {
  const { version, projects } = Object(document)
  if (version !== 1 || !Array.isArray(projects)) {
    throw usageError(`${name} is an export that this release cannot read: take a newer pubring.`)
  }
  return projects.map((project) => {
    const { name: projectName, keys } = Object(project)
    return { name: String(projectName), entries: readKeys(Array.isArray(keys) ? keys : [], name) }
  })
}

const members = ['kid', 'algorithm', 'createTime', 'updateTime', 'expireTime'] as const

/** Keys as the API lists them. */
export function readKeys(keys: readonly unknown[], name: string): SourceEntry[] {
  return keys.map((value, index) => {
    const { id, label, publicKeyPem, active, ...others } = Object(value)
    const place = `${name}, key ${index + 1}`
    if (typeof publicKeyPem !== 'string' || typeof label !== 'string') {
      const detail = 'This is no key of an export: publicKeyPem or label is missing.'
      return refusedEntry(place, String(label ?? ''), { code: 'invalid_entry', detail })
    }
    const secret = privateEntry(`${label}\n${publicKeyPem}`, place, '')
    if (secret !== undefined) return secret
    const given: Record<string, unknown> = { ...others, kid: id }
    const kept = members.filter((member) => typeof given[member] === 'string')
    return {
      place,
      label,
      key: {
        publicKeyPem,
        active: active !== false,
        ...Object.fromEntries(kept.map((member) => [member, String(given[member])])),
      },
    }
  })
}
