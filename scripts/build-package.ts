/**
 * Compiles the sources into `dist/`, with the layout of the checkout, and copies the console, which
 * must be built.
 *
 *   npm run build    builds both; runs before `npm pack` and `npm publish`
 */
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import process from 'node:process'

const root = join(import.meta.dirname, '..')
const target = join(root, 'dist')
const readManifest = (folder: string) =>
  JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))

rmSync(target, { recursive: true, force: true })
run('tsc', '--project', 'tsconfig.build.json')
linkPackages()
const copied = globSync(['packages/*/src/**/*.{bin,LICENSE}', 'docs/openapi.json'], { cwd: root })
for (const file of [...copied, 'console/dist']) {
  cpSync(join(root, file), join(target, file), { recursive: true })
}
writeManifest()

/**
 * Replaces the names of the packages in the compiled files by relative paths: what is published is one
 * package, in which there is nothing to install them from.
 */
function linkPackages(): void {
  const doors = globSync('packages/*', { cwd: root }).flatMap((folder) => {
    const { name, exports }: { name: string; exports: Record<string, string> } =
      readManifest(folder)
    return Object.entries(exports).map(([door, file]) => ({
      name: join(name, door),
      file: join(folder, file).replace(/\.ts$/, '.js'),
    }))
  })
  for (const file of globSync('packages/*/src/**/*.js', { cwd: target })) {
    const path = join(target, file)
    const source = readFileSync(path, 'utf8')
    const linked = source.replaceAll(
      /((?:from|import\() ?)['"](@pubring\/[^'"]+)['"]/g,
      (_, start, name) => `${start}'${relativePath(file, fileOf(doors, name))}'`,
    )
    if (linked !== source) writeFileSync(path, linked)
  }
}

/** The file that a name leads to. */
function fileOf(doors: readonly { name: string; file: string }[], name: string): string {
  for (const door of doors) {
    const [start = '', end] = door.name.split('*')
    if (door.name === name) return door.file
    if (end === '' && name.startsWith(start))
      return door.file.replace('*', name.slice(start.length))
  }
  throw new Error(`no package exports ${name}`)
}

function relativePath(from: string, to: string): string {
  const path = relative(dirname(from), to)
  return path.startsWith('.') ? path : `./${path}`
}

/** The parts of the manifest that the program reads. */
function writeManifest(): void {
  const { name, version, description, type } = readManifest('.')
  const manifest = JSON.stringify({ name, version, description, type }, undefined, 2)
  writeFileSync(join(target, 'package.json'), `${manifest}\n`)
}

/** Prints to stderr only, since `npm pack --json` writes to stdout. */
function run(command: string, ...args: string[]): void {
  const program = join(root, 'node_modules', '.bin', command)
  execFileSync(program, args, { cwd: root, stdio: ['ignore', process.stderr, process.stderr] })
}
