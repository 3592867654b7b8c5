import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { detectWrongKind } from '../../../intake/wrong-kind.ts'
import { toPem } from '../../keys/conversion.ts'
import { type CommandError, usageError } from '../../terminal/failures.ts'
import { readBytes, sourceName } from '../../terminal/files.ts'
import { notify } from '../../terminal/output.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { isCsv, readCsv } from './csv.ts'
import { endings, privateEntry, type SourceProject, stem } from './entry.ts'
import { isExport, readExport, readKeys } from './export-document.ts'
import { readJwks } from './jwks.ts'
import { converted, readPemBlocks } from './pem-blocks.ts'
import { type FetchOptions, fetchText } from './remote.ts'

/** Octets of a file that are read at most: 10,000 keys of the largest kind. */
const mostOctets = 64 * 1024 * 1024

/**
 * The keys of a source: a file, a folder (its files of known endings, in order of their names, not
 * those of folders in it), the https address of a key set, or `-`, standard input. What a file holds is
 * told from its content. Throws where it cannot be read; what is wrong with a key is in its entry.
 */
export async function readSource(
  source: string,
  terminal: Terminal,
  options: FetchOptions,
): Promise<SourceProject[]> {
  if (/^https?:\/\//i.test(source)) {
    const text = await fetchText(source, options)
    return readContent(Buffer.from(text), new URL(source).hostname)
  }
  if (source === '-' || !isFolder(source)) return readFile(source, terminal)
  const names = readdirSync(source, { withFileTypes: true })
    .filter((each) => each.isFile() && !each.name.startsWith('.'))
    .map(({ name }) => name)
    .sort()
  const taken = names.filter((name) => endings.test(name))
  if (taken.length === 0) throw usageError(`The folder ${source} has no files with keys in it.`)
  const ignored = names.length - taken.length
  if (ignored > 0)
    notify(terminal, `Files in ${source} that are left out by their endings: ${ignored}.`)
  const found: SourceProject[] = []
  for (const name of taken) found.push(...(await readFile(join(source, name), terminal)))
  return merged(found)
}

function isFolder(source: string): boolean {
  return statSync(source, { throwIfNoEntry: false })?.isDirectory() === true
}

async function readFile(file: string, terminal: Terminal): Promise<SourceProject[]> {
  return readContent(await readBytes(file, terminal, mostOctets), sourceName(file))
}

/** Keys that belong to no project in particular belong together. */
function merged(projects: SourceProject[]): SourceProject[] {
  const groups = Map.groupBy(projects, ({ name }) => name)
  return [...groups].map(([name, group]) => ({
    ...(name === undefined ? {} : { name }),
    entries: group.flatMap(({ entries }) => entries),
  }))
}

/** Reads what a file holds, whatever that is; `name` is what messages call it. */
export function readContent(octets: Buffer, name: string): SourceProject[] {
  if (octets[0] === 0x30 && octets.includes(0)) {
    const secret = privateEntry(octets.toString('base64'), name, stem(name))
    return [
      { entries: [secret ?? converted(() => toPem(octets, name).publicKeyPem, name, stem(name))] },
    ]
  }
  const text = octets.toString('utf8')
  if (/^\uFEFF?\s*[{[]/.test(text)) return readJson(text, name)
  if (isCsv(text)) return readCsv(text, name)
  const blocks = readPemBlocks(text, name)
  if (blocks.length > 0) return [{ entries: blocks }]
  const secret = privateEntry(text, name, stem(name))
  if (secret !== undefined) return [{ entries: [secret] }]
  if (detectWrongKind(text)?.code === 'ssh_key_submitted') {
    return [{ entries: [converted(() => toPem(text, name).publicKeyPem, name, stem(name))] }]
  }
  throw unknownContent(name)
}

function readJson(text: string, name: string): SourceProject[] {
  const document = parsed(text, name)
  if (Array.isArray(document)) return [{ entries: readKeys(document, name) }]
  if (isExport(document)) return readExport(document, name)
  const { keys, kty } = Object(document)
  if (Array.isArray(keys)) return [{ entries: readJwks(keys, name) }]
  if (kty !== undefined) return [{ entries: readJwks([document], name) }]
  throw unknownContent(name)
}

function parsed(text: string, name: string): object {
  try {
    return Object(JSON.parse(text.replace(/^\uFEFF/, '')))
  } catch {
    throw usageError(`${name} begins like JSON, but is not valid JSON.`)
  }
}

function unknownContent(name: string): CommandError {
  return usageError(
    `${name} holds no keys that can be imported.`,
    'PEM blocks, a JWKS, an export of pubring, or CSV as pubring export --format csv writes it.',
  )
}
