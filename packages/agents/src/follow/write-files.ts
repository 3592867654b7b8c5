import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { parseJson } from '@pubring/server/runtime/json'
import type { Format, FormatOptions, OutputFile } from './formats.ts'
import type { PublishedKeys } from './published-keys.ts'

/** Lists the key files that were written beside it, which alone may be removed. */
const manifestName = '.pubring-follow.json'

/** What `--out` and the options beside it say. */
export interface OutputOptions extends FormatOptions {
  format: Format
}

/**
 * Makes the files contain these key sets. Returns whether any has changed. Rejects if one cannot be
 * written; then each file is as before or new, and never a part of either: it is replaced by a rename,
 * if its content differs, and read back before that.
 */
export async function writeFiles(
  options: OutputOptions,
  sets: readonly PublishedKeys[],
): Promise<boolean> {
  const { keyFolder = options.out, keyFiles, files } = options.format(sets, options)
  const manifest = join(keyFolder, manifestName)
  const names = keyFiles.map(({ path }) => relative(keyFolder, path))
  const before = await readManifest(manifest)
  const obsolete = before.filter((name) => !names.includes(name))
  // Written first with the files of both, so that a kill loses track of none.
  const both = [...new Set([...before, ...names])]
  if (both.length > 0) await replace({ path: manifest, content: manifestText(both) })
  const changed = []
  for (const file of [...keyFiles, ...files]) changed.push(await replace(file))
  for (const name of obsolete) await rm(join(keyFolder, name), { force: true })
  if (obsolete.length > 0) await replace({ path: manifest, content: manifestText(names) })
  return changed.includes(true) || obsolete.length > 0
}

function manifestText(names: string[]): string {
  return `${JSON.stringify(names.sort(), null, 2)}\n`
}

async function readManifest(path: string): Promise<string[]> {
  const names = parseJson(await readFile(path, 'utf8').catch(() => ''))
  return Array.isArray(names) ? names.filter(isInside) : []
}

function isInside(name: unknown): name is string {
  return typeof name === 'string' && name.endsWith('.pem') && !name.split(/[\\/]/).includes('..')
}

/** Returns whether the content differs from the file's. */
async function replace({ path, content }: OutputFile): Promise<boolean> {
  if ((await readFile(path, 'utf8').catch(() => undefined)) === content) return false
  const folder = dirname(path)
  await mkdir(folder, { recursive: true })
  // The same name every time, so that what a kill leaves behind is overwritten.
  const temporary = join(folder, `.${basename(path)}.new`)
  const handle = await open(temporary, 'w', 0o644)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
  if ((await readFile(temporary, 'utf8')) !== content) {
    throw new Error(`${temporary} does not have the content that was written`)
  }
  await rename(temporary, path)
  return true
}
