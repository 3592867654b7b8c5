import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describeDocument, detectWrongKind, isDeclaration, isJwk } from '@pubring/intake'
import { maxTextLength, normalizeText } from '@pubring/intake/encoding'
import { textOf } from '@pubring/intake/jwk'
import { readServiceKeys, type ServiceKeys } from '@pubring/intake/key-service'
import { parseJson } from '@pubring/server/runtime/json'
import { isDer, readServiceKey } from '../keys/files.ts'
import { type CommandError, fileError, usageError } from '../terminal/failures.ts'
import { readBytes, sourceName } from '../terminal/files.ts'
import { notify, quoteForShell, type Terminal } from '../terminal/terminal.ts'
import { hasSecretBeside } from './beside.ts'
import {
  convert,
  type EntryContent,
  extensions,
  privateKey,
  privateKeyCode,
  publishedKidOf,
  readEntry,
  type Source,
  type SourceEntry,
  stem,
} from './entry.ts'
import { isExport, readExport, readKeys } from './export.ts'
import { contentOf, readJwks } from './jwks.ts'

/** The longest text that Node can hold: half a million keys. */
const maxFileBytes = 512 * 1024 * 1024 - 1024

/**
 * The keys of a source: a file, a folder (its files with known extensions, by name, without
 * subfolders), or `-` for standard input. The content of a file decides its format. Throws if it cannot be
 * read; a fault of one key is in its entry.
 */
export async function readSource(source: string, terminal: Terminal): Promise<Source> {
  if (/^https?:/i.test(source)) {
    const fetched = `curl -fsS ${quoteForShell(source)} | pubring import -`
    throw usageError('Addresses are not fetched.', fetched)
  }
  const entry = source === '-' ? undefined : statSync(source, { throwIfNoEntry: false })
  return entry?.isDirectory() ? readFolder(source, terminal) : readFile(source, terminal)
}

async function readFolder(folder: string, terminal: Terminal): Promise<Source> {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map(({ name }) => name)
    .sort()
  const read = names.filter((name) => extensions.test(name))
  if (read.length === 0) throw fileError(`The folder ${folder} has no files with keys.`)
  const skipped = names.length - read.length
  if (skipped > 0) notify(terminal, `Skipped files in ${folder} with other extensions: ${skipped}.`)
  const sources = await Array.fromAsync(read, (name) => readFile(join(folder, name), terminal))
  return {
    entries: sources.flatMap(({ entries }) => entries),
    projects: sources.flatMap(({ projects }) => projects),
  }
}

async function readFile(file: string, terminal: Terminal): Promise<Source> {
  return readContent(await readBytes(file, terminal, maxFileBytes), sourceName(file))
}

/** Reads content of any supported format; `name` is what messages call it. */
export function readContent(bytes: Buffer, name: string): Source {
  const label = stem(name)
  if (isDer(bytes)) {
    const entry = { place: name, label, text: bytes.toString('base64'), safeLabel: label }
    return withoutProjects([readEntry(entry, () => convert(bytes, name))])
  }
  const text = bytes.toString('utf8')
  const source = readText(text, name)
  const isReported = source.entries.some(
    (entry) => 'rejection' in entry && secretCodes.includes(entry.rejection.code),
  )
  if (isReported || !hasSecretBeside(text)) return source
  // A private key beside the keys keeps them from being sent, too.
  const beside = { place: name, label, rejection: privateKey }
  return { ...source, entries: [...source.entries, beside] }
}

const secretCodes = [privateKeyCode, 'symmetric_key']

function readText(text: string, name: string): Source {
  if (/^\s*[{[]/.test(text)) return readJson(text, name)
  // The state that a declaration gives to its keys must not be lost.
  const entries = isDeclaration(text) ? [] : readPemBlocks(text, name)
  if (entries.length > 0) return withoutProjects(entries)
  const document = describeDocument(text)
  if (document !== undefined || text.length > maxTextLength) throw unknownContent(name, document)
  const label = stem(name)
  const entry = { place: name, label, text, safeLabel: label }
  return withoutProjects([readEntry(entry, () => convert(Buffer.from(text), name))])
}

function withoutProjects(entries: SourceEntry[]): Source {
  return { entries, projects: [] }
}

function readJson(text: string, name: string): Source {
  const document = parseJson(text.trim())
  if (!(document instanceof Object)) {
    throw fileError(`${name} is not valid JSON.`, ...[describeDocument(text) ?? []].flat())
  }
  if (isExport(document)) return readExport(document, name)
  const entries = readJsonEntries(document, name)
  if (entries !== undefined) return withoutProjects(entries)
  const label = stem(name)
  const entry = readEntry({ place: name, label, text, safeLabel: label }, () => {
    const described = text.length > maxTextLength ? undefined : detectWrongKind(text)?.detail
    throw unknownContent(name, described)
  })
  return withoutProjects([entry])
}

/** The keys of a document, or of the first key set in it; undefined if it has none of a known form. */
function readJsonEntries(document: object, name: string): SourceEntry[] | undefined {
  if (Array.isArray(document)) {
    if (document.some(isJwk)) return readJwks(document, name)
    const isList =
      document.length === 0 || document.some((key) => textOf(Object(key).publicKeyPem) !== '')
    return isList ? readKeys(document, name) : undefined
  }
  const service = readServiceKeys(document)
  if (service !== undefined) return readServiceEntries(service, name)
  if (isJwk(document)) return readJwks([document], name)
  const keys = keySetIn(document)
  if (keys !== undefined) return readJwks(keys, name)
  const members = Object.entries(document)
  const hasPem = ([, text]: [string, unknown]) => textOf(text).includes('-----BEGIN ')
  if (members.length > 0 && members.every(hasPem)) return readPemMap(members, name)
  return undefined
}

/** All versions of a key of a key management service; undefined if it signs nothing. */
function readServiceEntries({ keys, fault }: ServiceKeys, name: string): SourceEntry[] | undefined {
  if (fault !== undefined) return undefined
  return keys.map((key) => {
    const fallback = [stem(name), key.version].filter(Boolean).join(' ')
    const label = ('jwk' in key && textOf(key.jwk.kid)) || fallback
    const entry = { place: name, label, text: JSON.stringify(key), safeLabel: fallback }
    return readEntry(entry, () => contentOf(() => readServiceKey(key)))
  })
}

/** Wrappers around a key set: `{"data": {"jwks": {"keys": […]}}}`. */
const maxWrappers = 3

function keySetIn(document: unknown, depth = 0): unknown[] | undefined {
  if (!(document instanceof Object)) return undefined
  const { keys } = Object(document)
  if (Array.isArray(keys) && (keys.some(isJwk) || (depth === 0 && keys.length === 0))) return keys
  if (depth === maxWrappers || Array.isArray(document)) return undefined
  for (const inner of Object.values(document)) {
    const found = keySetIn(inner, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

/** Certificates or keys in PEM by their kid, as Google publishes those of its service accounts. */
function readPemMap(members: [kid: string, pem: unknown][], name: string): SourceEntry[] {
  return members.map(([kid, pem], index) => {
    const place = `${name}, entry ${index + 1}`
    const text = textOf(pem)
    const safeLabel = `${stem(name)} ${index + 1}`
    return readEntry({ place, label: kid, text, safeLabel }, () => {
      const content = convert(Buffer.from(text), place)
      if ('rejection' in content) return content
      const { fields, ...note } = publishedKidOf(kid)
      return { key: { ...content.key, ...fields }, ...note }
    })
  })
}

function unknownContent(name: string, described?: string): CommandError {
  const supported = 'Supported: PEM blocks, a JWKS, certificates by kid, and an export of pubring.'
  return fileError(`${name} holds no keys that can be imported.`, described ?? supported)
}

interface Block {
  /** The label of the block: `PUBLIC KEY`. */
  kind: string
  text: string
  /** The lines before it that belong to no block. */
  comments: string[]
  complete: boolean
}

const begin = /^[\t ]*-----BEGIN ([^-\r\n]+)-----/
const end = /-----END [^-\r\n]+-----/
/** Between blocks that were joined without a line break. */
const joint = /(-----END [^-\r\n]+-----)[\t ]*(?=-----BEGIN )/g

/**
 * The keys of a text, one per PEM block. The label of a key is the last comment line before its
 * block, without `#`, `//` or `;`, or else the name of the file.
 */
function readPemBlocks(text: string, name: string): SourceEntry[] {
  const blocks = parseBlocks(text)
  const count = blocks.length
  return blocks.map((block, index) => {
    const place = count === 1 ? name : `${name}, block ${index + 1}`
    const fallback = count === 1 ? stem(name) : `${stem(name)} ${index + 1}`
    const label = commentOf(block) ?? fallback
    const entry = { place, label, text: block.text, safeLabel: fallback }
    return readEntry(entry, () => readBlock(block, place, count === 1))
  })
}

function parseBlocks(text: string): Block[] {
  const blocks: Block[] = []
  let comments: string[] = []
  let open: Block | undefined
  for (const line of normalizeText(text).text.replace(joint, '$1\n').split('\n')) {
    const [, kind] = begin.exec(line) ?? []
    if (kind !== undefined) {
      open = { kind, text: '', comments, complete: false }
      blocks.push(open)
      comments = []
    }
    if (open === undefined) {
      if (line.trim() !== '') comments.push(line.trim())
      continue
    }
    open.text += `${line}\n`
    if (end.test(line)) {
      open.complete = true
      open = undefined
    }
  }
  return blocks
}

function readBlock({ kind, text, complete }: Block, place: string, isOnly: boolean): EntryContent {
  if (!complete) {
    const detail = 'The block has no END line: the file is truncated. Copy it again.'
    return { rejection: { code: 'pem_incomplete', detail } }
  }
  if (!kind.includes('CERTIFICATE')) return { key: { publicKeyPem: text } }
  if (!isOnly) {
    const detail =
      'This is a certificate among other blocks. It may belong to an authority, whose key must not be registered. Provide the public key itself: openssl x509 -in cert.pem -noout -pubkey'
    return { rejection: { code: 'certificate_submitted', detail } }
  }
  return convert(Buffer.from(text), place)
}

/** A line of Markdown, source text, YAML or a shell, or of a description of a certificate. */
const notComment =
  /^(?:```|subject=|issuer=|(?:[\da-f]{2}:){5})|<<|(?:[:=]|^-)\s*(?:[brf]?["'`]{1,3}|[|>][+-]?)?$/i

function commentOf({ comments }: Block): string | undefined {
  // openssl pkcs12 writes friendlyName without a comment marker, and other attributes after it.
  const named = comments.findLast((line) => line.startsWith('friendlyName:'))
  const last = named ?? comments.at(-1) ?? ''
  if (named === undefined && notComment.test(last)) return undefined
  const label = last.replace(/^(?:(?:#+|\/\/+|;+|--+)\s?|friendlyName:\s*)/, '').trim()
  return label === '' ? undefined : label
}
