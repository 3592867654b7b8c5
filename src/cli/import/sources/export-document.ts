import type { JwtKey } from '../../../../client/src/index.ts'
import { fileError } from '../../terminal/failures.ts'
import { recordEntry, type SourceEntry } from './entry.ts'

const format = 'pubring-export'

/** A key as the API lists it, with what restoring it needs besides. */
export type ExportedKey = JwtKey & { publishedKid?: string }

/** The document that `pubring export` writes and `pubring import` reads. */
export function exportDocument(
  projects: { id: string; name: string; keys: ExportedKey[] }[],
  exportTime: string,
) {
  return { format, version: 1, exportTime, projects }
}

export function isExport(document: object): boolean {
  return Reflect.get(document, 'format') === format
}

/** The keys of an export. Throws for another version. */
export function readExport(document: object, name: string): SourceEntry[] {
  const { version, projects } = Object(document)
  if (version !== 1 || !Array.isArray(projects)) {
    throw fileError(`${name} is an export that this release cannot read: use a newer pubring.`)
  }
  return projects.flatMap((value) => {
    const { name: project, keys } = Object(value)
    const entries = readKeys(Array.isArray(keys) ? keys : [], name)
    return entries.map((entry) => ({ ...entry, project: String(project) }))
  })
}

/** Keys as the API lists them. */
export function readKeys(keys: readonly unknown[], name: string): SourceEntry[] {
  return keys.map((value, index) => {
    const { id, label, publicKeyPem, active, ...others } = Object(value)
    const place = `${name}, key ${index + 1}`
    if (typeof publicKeyPem !== 'string' || typeof label !== 'string') {
      const detail = 'This is not a key of an export: publicKeyPem or label is missing.'
      return { place, label: String(label ?? ''), rejection: { code: 'invalid_entry', detail } }
    }
    return recordEntry({ ...others, kid: id, label, publicKeyPem, active: active !== false }, place)
  })
}
