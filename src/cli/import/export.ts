import type { Client } from '../../../client/src/index.ts'
import type { Session } from '../connection/session.ts'
import { usageError } from '../terminal/failures.ts'
import { writeAll } from '../terminal/terminal.ts'
import { type ExportedKey, type ExportedProject, exportParts } from './sources/export-document.ts'

/**
 * Writes the keys of one project or of all to stdout, project by project; `json` can be
 * imported in full, and has the projects without keys, too.
 */
export async function exportKeys(
  session: Session,
  { all, format }: { all?: true; format: 'json' | 'jwks' | 'pem' },
): Promise<void> {
  const { client, terminal } = session
  if (format === 'jwks' && all) {
    throw usageError('A key set belongs to one project: leave out --all, or use another format.')
  }
  if (format === 'jwks') {
    const jwks = await client.jwks.get(session.project)
    await writeAll(terminal, `${JSON.stringify(jwks, null, 2)}\n`)
    return
  }
  const { start, write, end } = writers[format]
  const projects = all ? client.projects.all() : [await client.projects.get(session.project)]
  let count = 0
  let keyCount = 0
  await writeAll(terminal, start(new Date(session.now()).toISOString()))
  for await (const { id, name } of projects) {
    const project = { id, name, keys: await readKeys(client, id) }
    await writeAll(terminal, write(project, count === 0))
    count += 1
    keyCount += project.keys.length
  }
  await writeAll(terminal, end)
  session.notify(`Exported keys: ${keyCount}, projects: ${count}.`)
}

interface Writer {
  start(time: string): string
  write(project: ExportedProject, isFirst: boolean): string
  end: string
}

const writers: Readonly<Record<'json' | 'pem', Writer>> = {
  json: { start: exportParts.start, write: exportParts.project, end: exportParts.end },
  pem: { start: () => '', write: toPemBlocks, end: '' },
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
function toPemBlocks({ name, keys }: ExportedProject): string {
  return keys
    .map((key) => {
      const state = key.active ? 'active' : 'inactive'
      const comment = `# project ${name}, kid ${key.id}, ${key.algorithm}, ${state}`
      return `${comment}\n# ${key.label}\n${key.publicKeyPem}\n`
    })
    .join('')
}
