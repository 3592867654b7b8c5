import type { Client, Project } from '../../../client/src/index.ts'
import type { Session } from '../connection/session.ts'
import { usageError } from '../terminal/failures.ts'
import { writeAll } from '../terminal/output.ts'
import { writeCsv } from './sources/csv.ts'
import { type ExportedKey, exportDocument } from './sources/export-document.ts'

/** Flags of `export`. */
interface ExportFlags {
  all?: true
  format: 'json' | 'jwks' | 'pem' | 'csv'
}

interface ProjectKeys {
  id: string
  name: string
  keys: ExportedKey[]
}

/** Writes the keys of one project or of all to stdout; `json` and `csv` can be imported in full. */
export async function exportKeys(session: Session, { all, format }: ExportFlags): Promise<void> {
  const { client, terminal } = session
  if (format === 'jwks' && all) {
    throw usageError('A key set belongs to one project: leave out --all, or use another format.')
  }
  if (format === 'jwks') {
    await writeAll(terminal, toJson(await client.jwks.get(session.project)))
    return
  }
  const projects = await readProjects(session, all)
  await writeAll(terminal, writers[format](projects, new Date(session.now()).toISOString()))
  const count = projects.reduce((sum, { keys }) => sum + keys.length, 0)
  session.notify(`Exported keys: ${count}, projects: ${projects.length}.`)
}

const toJson = (document: unknown) => `${JSON.stringify(document, null, 2)}\n`

const writers = {
  json: (projects: ProjectKeys[], time: string) => toJson(exportDocument(projects, time)),
  csv: writeCsv,
  pem: (projects: ProjectKeys[]) => projects.map(toPemBlocks).join(''),
}

async function readProjects({ client, project }: Session, all?: true): Promise<ProjectKeys[]> {
  const projects: Project[] = all
    ? await Array.fromAsync(client.projects.all())
    : [await client.projects.get(project)]
  const read: ProjectKeys[] = []
  for (const { id, name } of projects) read.push({ id, name, keys: await readKeys(client, id) })
  return read
}

/** Requests that are sent at once. */
const batchSize = 10

/** Reads each key by itself, because lists do not show the published kid. */
async function readKeys(client: Client, project: string): Promise<ExportedKey[]> {
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
function toPemBlocks({ name, keys }: ProjectKeys): string {
  return keys
    .map((key) => {
      const state = key.active ? 'active' : 'inactive'
      const comment = `# project ${name}, kid ${key.id}, ${key.algorithm}, ${state}`
      return `${comment}\n# ${key.label}\n${key.publicKeyPem}`
    })
    .join('\n')
}
