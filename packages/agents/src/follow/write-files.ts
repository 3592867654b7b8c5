import { basename, dirname, join, relative } from 'node:path'
import { isObject, parseJson } from '@pubring/server/runtime/json'
import { inFolder, isPlainName } from '../folder.ts'
import type { Format, FormatOptions, OutputFile } from './formats.ts'
import type { PublishedKeys } from './published-keys.ts'

/** Lists the key files that were written, which alone may be removed. */
const manifestName = '.pubring-follow.json'

/** The values of `--out` and the options beside it. */
export interface OutputOptions extends FormatOptions {
  format: Format
}

/**
 * Makes the files contain these key sets. Returns whether any has changed. Rejects if one cannot be
 * written; then each file is as before or new, and never a part of either: it is replaced by a rename,
 * if its content differs, and read back before that. Links on the way to the folder of `--out` are
 * followed, and no others.
 */
export async function writeFiles(
  options: OutputOptions,
  sets: readonly PublishedKeys[],
): Promise<boolean> {
  const root = dirname(options.out)
  const { keyFolder, keyFiles, files } = options.format(sets, options)
  if (keyFolder === undefined) return replaceAll(root, files)
  const paths = keyFiles.map(({ path }) => relative(keyFolder, path))
  const before = await inFolder(root, keyFolder, async (folder) =>
    // One that cannot be read lists nothing, so no file is removed by it.
    readManifest((await folder.read(manifestName).catch(() => undefined)) ?? ''),
  )
  const writeManifest = (listed: readonly string[]) =>
    inFolder(root, keyFolder, (folder) => folder.replace(manifestName, manifestText(listed)))
  const obsolete = before.filter((path) => !paths.includes(path))
  // Written first with the files of both, so that a kill loses track of none.
  const both = [...new Set([...before, ...paths])]
  if (both.length > 0) await writeManifest(both)
  const haveKeysChanged = await replaceAll(root, keyFiles)
  const hasChanged = (await replaceAll(root, files)) || haveKeysChanged
  for (const path of obsolete) {
    await inFolder(root, join(keyFolder, dirname(path)), (folder) => folder.remove(basename(path)))
  }
  if (obsolete.length > 0) await writeManifest(paths)
  return hasChanged || obsolete.length > 0
}

/** Returns whether the content of any file was another. */
async function replaceAll(root: string, files: readonly OutputFile[]): Promise<boolean> {
  let hasChanged = false
  for (const [path, inside] of Map.groupBy(files, (file) => dirname(file.path))) {
    await inFolder(root, path, async (folder) => {
      for (const file of inside) {
        hasChanged = (await folder.replace(basename(file.path), file.content)) || hasChanged
      }
    })
  }
  return hasChanged
}

/** An object with the names of the files by their folder, which is `.` for those beside it. */
function manifestText(paths: readonly string[]): string {
  const folders = Map.groupBy([...paths].sort(), (path) => dirname(path))
  const entries = [...folders].map(([folder, inside]) => [
    folder,
    inside.map((path) => basename(path)),
  ])
  return `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`
}

/** Reads the paths of key files in a manifest, and skips those that would lead out of the folder. */
function readManifest(text: string): string[] {
  const manifest = parseJson(text)
  return Object.entries(isObject(manifest) ? manifest : {}).flatMap(([folder, names]) => {
    if (folder !== '.' && !isPlainName(folder)) return []
    return Array.isArray(names) ? names.filter(isKeyFile).map((name) => join(folder, name)) : []
  })
}

function isKeyFile(name: unknown): name is string {
  return typeof name === 'string' && name.endsWith('.pem') && isPlainName(name)
}
