import type { JwtKey, Project } from '../../client/src/index.ts'
import type { ExportFlags } from './commands/bulk.ts'
import { usageError } from './failures.ts'
import { type Session, withSession } from './session.ts'
import { writeCsv } from './sources/csv.ts'
import { exportDocument } from './sources/export-document.ts'
import type { Terminal } from './terminal.ts'

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
      terminal.stdout.write(`${JSON.stringify(await client.jwks.get(project), null, 2)}\n`)
      return
    }
    const projects = await exported(session, all === true)
    if (format === 'csv') terminal.stdout.write(writeCsv(projects))
    else if (format === 'pem') terminal.stdout.write(projects.map(pemOf).join(''))
    else {
      const plain = projects.map(({ id, name, keys }) => ({ id, name, keys }))
      const document = exportDocument(plain, new Date(now()).toISOString())
      terminal.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
    }
    const count = projects.reduce((sum, { keys }) => sum + keys.length, 0)
    session.say(`Exported keys: ${count}, of projects: ${projects.length}.`)
  })
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
