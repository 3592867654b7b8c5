import type { JwtKey, Project } from '../../../client/src/index.ts'
import type { ConnectionFlags } from '../connection/connection.ts'
import { type Session, withSession } from '../connection/session.ts'
import { usageError } from '../terminal/failures.ts'
import { writeAll } from '../terminal/output.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { writeCsv } from './sources/csv.ts'
import { exportDocument } from './sources/export-document.ts'

/** Flags of `export`. */
export interface ExportFlags extends ConnectionFlags {
  all?: true
  format?: 'json' | 'jwks' | 'pem' | 'csv'
}

type Exported = Project & { keys: JwtKey[] }

/** Writes the keys of one project or of all to stdout; `json` and `csv` can be imported whole. */
export async function exportKeys(terminal: Terminal, flags: ExportFlags): Promise<void> {
  const { format = 'json', all } = flags
  if (format === 'jwks' && all === true) {
    throw usageError('A key set is that of one project: leave --all out, or take another format.')
  }
  await withSession(terminal, flags, async (session) => {
    const { client, project, now } = session
    if (format === 'jwks') {
      await writeAll(terminal, asJson(await client.jwks.get(project)))
      return
    }
    const projects = await exported(session, all === true)
    const time = new Date(now()).toISOString()
    await writeAll(terminal, writers[format](projects, time))
    const count = projects.reduce((sum, { keys }) => sum + keys.length, 0)
    session.notify(`Exported keys: ${count}, of projects: ${projects.length}.`)
  })
}

const asJson = (document: unknown) => `${JSON.stringify(document, null, 2)}\n`

/** The text of all projects, by the format. */
const writers = {
  json: (projects: readonly Exported[], time: string) => {
    const plain = projects.map(({ id, name, keys }) => ({ id, name, keys }))
    return asJson(exportDocument(plain, time))
  },
  csv: (projects: readonly Exported[]) => writeCsv(projects),
  pem: (projects: readonly Exported[]) => projects.map(pemOf).join(''),
}

async function exported({ client, project }: Session, all: boolean): Promise<Exported[]> {
  const projects: Project[] = []
  if (all) for await (const each of client.projects.all()) projects.push(each)
  else projects.push(await client.projects.get(project))
  const found: Exported[] = []
  for (const each of projects) found.push({ ...each, keys: await client.keys.list(each.id) })
  return found
}

/** Blocks whose label stands in the line before, where an import finds it. */
function pemOf({ name, keys }: Exported): string {
  return keys
    .map((key) => {
      const state = key.active ? 'active' : 'inactive'
      const about = `# project ${name}, kid ${key.id}, ${key.algorithm}, ${state}`
      return `${about}\n# ${key.label}\n${key.publicKeyPem}`
    })
    .join('\n')
}
