import { randomBytes } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { mkdir, open, readdir, realpath, rename, rm, symlink } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'

/**
 * A folder in which files are replaced. A link in its place, or in the place of a file, is not
 * followed: on Linux every path begins at the folder that was opened, elsewhere its real path
 * is compared before each use.
 */
interface Folder {
  /** The content of a file; undefined if there is none. */
  read(name: string): Promise<string | undefined>
  /**
   * Replaces the file by a rename, unless it can be read and has this content. Returns whether it did. By
   * default everyone may read it.
   */
  replace(name: string, content: string, mode?: number): Promise<boolean>
  /** Replaces what has the name, unless that is a folder, by a symbolic link to the target. */
  link(name: string, target: string): Promise<void>
  list(): Promise<string[]>
  /** Removes a file, or a folder with all that is in it. */
  remove(name: string): Promise<void>
}

interface OpenFolder extends Folder {
  /** Opens a folder in it, which is made if there is none. */
  enter(name: string): Promise<OpenFolder>
  close(): Promise<void>
}

// Windows has no O_NOFOLLOW and O_NONBLOCK.
const { O_CREAT, O_DIRECTORY, O_EXCL, O_RDONLY, O_WRONLY } = constants
const { O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

/** Whether it names something in a folder, and leads nowhere else. */
export function isPlainName(name: string): boolean {
  return !['', '.', '..'].includes(name) && !/[\\/\0]/.test(name)
}

/**
 * Opens the root, following links, and from there the folder at `path`, following none; makes those
 * that are missing. Closes it after the action.
 */
export async function inFolder<T>(
  root: string,
  path: string,
  action: (folder: Folder) => Promise<T>,
): Promise<T> {
  await mkdir(root, { recursive: true })
  let folder = await openFolder(root, await realpath(root))
  try {
    for (const name of relative(root, path).split(sep).filter(Boolean)) {
      const inner = await folder.enter(name)
      await folder.close()
      folder = inner
    }
    return await action(folder)
  } finally {
    await folder.close()
  }
}

/** `path` is for messages. Throws unless the folder is at its real path. */
async function openFolder(path: string, real: string): Promise<OpenFolder> {
  const handle =
    process.platform === 'linux' && existsSync('/proc/self/fd')
      ? await open(real, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      : undefined
  const base = handle === undefined ? real : `/proc/self/fd/${handle.fd}`

  async function use<T>(name: string, action: (path: string) => Promise<T>): Promise<T> {
    if (!isPlainName(name)) throw new Error(`${name} is not the name of a file`)
    try {
      if (handle === undefined && (await realpath(real)) !== real) {
        throw Object.assign(new Error(`${path} has been replaced by a link`), { code: 'ELOOP' })
      }
      return await action(join(base, name))
    } catch (error) {
      if (error instanceof Error) error.message = withoutOwnNames(error.message, base, path)
      throw error
    }
  }
  const read = (name: string) => use(name, readText).catch(undefinedIfMissing)
  return {
    read,
    async replace(name, content, mode = 0o644) {
      // A file that cannot be read is replaced, if the folder allows it.
      if ((await read(name).catch(() => undefined)) === content) return false
      await use(name, (file) => replaceFile(file, content, mode))
      await handle?.sync()
      return true
    },
    link: (name, target) =>
      use(name, async (path) => {
        const temporary = join(dirname(path), `.${name}.new`)
        await rm(temporary, { force: true })
        await symlink(target, temporary)
        await rename(temporary, path)
      }),
    list: () => use('list', (path) => readdir(dirname(path))),
    remove: (name) => use(name, (path) => rm(path, { force: true, recursive: true })),
    enter: (name) =>
      use(name, async (inner) => {
        await mkdir(inner).catch(ignoreExisting)
        return openFolder(join(path, name), inner)
      }),
    close: async () => handle?.close(),
  }
}

/** Follows no link. A pipe in the place of the file is read as empty, instead of waiting for a writer. */
async function readText(file: string): Promise<string> {
  const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

/** Writes a new file under a random name, reads it back and renames it. */
async function replaceFile(file: string, content: string, mode: number): Promise<void> {
  const [folder, name] = [dirname(file), basename(file)]
  for (const entry of await readdir(folder)) {
    if (isLeftover(entry, name)) await rm(join(folder, entry), { force: true })
  }
  const temporary = join(folder, `.${name}.${randomBytes(8).toString('hex')}.new`)
  try {
    const handle = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    if ((await readText(temporary)) !== content) {
      throw new Error(`${temporary} does not have the content that was written`)
    }
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

/** The same text for each failure of a kind: with the path of the folder, and without random names. */
function withoutOwnNames(message: string, base: string, path: string): string {
  return message.replaceAll(base, path).replace(/\.([^/]+)\.[0-9a-f]{16}\.new/g, '$1')
}

/** Whether a process that was killed left the entry behind while it replaced the file. */
function isLeftover(entry: string, name: string): boolean {
  const middle = entry.slice(name.length + 1)
  return entry.startsWith(`.${name}.`) && /^\.[0-9a-f]{16}\.new$/.test(middle)
}

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}
