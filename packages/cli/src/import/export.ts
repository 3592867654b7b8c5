import type {
  Client,
  JwtKey,
  JwtKeyWithDetails,
  KeyImportItem,
  KeyStateEntry,
} from '@pubring/client'
import { present } from '@pubring/server/runtime/present'
import type { Session } from '../connection/session.ts'
import { fileError } from '../terminal/failures.ts'
import { writeAll } from '../terminal/terminal.ts'
import { readKeyRecord, recordEntry, type Source, type SourceEntry } from './entry.ts'

const format = 'pubring-export'

/**
 * Writes the keys of one project or of all to stdout, project by project, as JSON that can be imported
 * in full; it has the projects without keys, too.
 */
export async function exportKeys(session: Session, { all }: { all?: true }): Promise<void> {
  const { client, terminal } = session
  const projects = all ? client.projects.all() : [await client.projects.get(session.project)]
  const exportTime = new Date(session.now()).toISOString()
  await writeAll(
    terminal,
    `{\n  "format": "${format}",\n  "version": 1,\n  "exportTime": "${exportTime}",\n  "projects": [`,
  )
  let count = 0
  let keyCount = 0
  for await (const { id, name } of projects) {
    const keys = await keysOf(client, id)
    const lines = keys.map((key) => `\n      ${JSON.stringify(key)}`)
    const start = `${count === 0 ? '' : ','}\n    {"id": ${JSON.stringify(id)}, "name": ${JSON.stringify(name)}`
    await writeAll(terminal, `${start}, "keys": [${lines.join(',')}]}`)
    count += 1
    keyCount += keys.length
  }
  await writeAll(terminal, '\n  ]\n}\n')
  session.notify(`Exported keys: ${keyCount}, projects: ${count}.`)
}

/** Requests that are sent at once. */
const batchSize = 10

type ExportedKey = JwtKey & Pick<KeyImportItem, 'publishedKid' | 'reason'>

/**
 * Reads each key by itself, because lists show neither the published kid nor the reason of an end. It
 * reads the states last, so that a key that was found compromised meanwhile is exported as such.
 */
async function keysOf(client: Client, project: string): Promise<ExportedKey[]> {
  const listed = await client.keys.list(project)
  const reads: JwtKeyWithDetails[] = []
  for (let start = 0; start < listed.length; start += batchSize) {
    const batch = listed.slice(start, start + batchSize)
    reads.push(...(await Promise.all(batch.map(({ id }) => client.keys.get(project, id)))))
  }
  const states = new Map((await client.keys.states(project)).map((state) => [state.kid, state]))
  return reads.map(({ details, ...key }) => {
    const { publishedKid, ended } = details
    const reason = ended?.reason ?? reasonAhead(key, states.get(key.id))
    return { ...key, ...present({ publishedKid, reason }) }
  })
}

/**
 * Why an active key will end. A key that a rotation replaces may have no end yet, and without one an
 * import takes no reason but `compromised`.
 */
function reasonAhead({ active, expireTime }: JwtKey, state: KeyStateEntry | undefined) {
  const reason = state?.endsBecause
  return active && (reason === 'compromised' || expireTime !== undefined) ? reason : undefined
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
  const source: Source = { entries: [], projects: [] }
  for (const value of projects) {
    const { id, name: project, keys } = Object(value)
    if (typeof id !== 'string' || typeof project !== 'string') {
      throw fileError(`${name} has a project without an id or without a name.`)
    }
    const entries = readKeys(Array.isArray(keys) ? keys : [], name)
    source.entries.push(...entries.map((entry) => ({ ...entry, project: id })))
    source.projects.push({ id, name: project })
  }
  return source
}

const members = [
  ...['id', 'kid', 'projectId', 'name', 'label', 'algorithm', 'publicKeyPem', 'active'],
  ...['createTime', 'updateTime', 'expireTime', 'publishedKid', 'reason', 'details'],
]

/** Keys as the API lists them. */
export function readKeys(keys: readonly unknown[], name: string): SourceEntry[] {
  return keys.map((value, index) => {
    const place = `${name}, key ${index + 1}`
    const { label, publicKeyPem, active = true, ...others } = readKeyRecord(value, members, place)
    if (label === undefined || publicKeyPem === undefined) {
      throw fileError(`${place} must have a label and a publicKeyPem.`)
    }
    return recordEntry({ ...others, label, publicKeyPem, active }, place)
  })
}
