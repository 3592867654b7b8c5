/**
 * Compiles the sources into `dist/`, with the layout of the checkout, and copies the console, which
 * must be built.
 *
 *   npm run build    builds both; runs before `npm pack` and `npm publish`
 */
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import process from 'node:process'

const { resolve } = createRequire(import.meta.url)
const root = join(import.meta.dirname, '..')
const target = join(root, 'dist')
const readManifest = (folder: string) =>
  JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))

rmSync(target, { recursive: true, force: true })
run('tsc', '--project', 'tsconfig.build.json')
linkPackages()
const copied = globSync(['packages/*/src/**/*.{bin,txt,LICENSE}', 'docs/openapi.json'], {
  cwd: root,
})
for (const file of [...copied, 'console/dist']) {
  cpSync(join(root, file), join(target, file), { recursive: true })
}
writeManifest()

/**
 * Replaces the names of the packages in the compiled files by relative paths: what is published is one
 * package, in which there is nothing to install them from.
 */
function linkPackages(): void {
  for (const file of globSync('packages/*/src/**/*.js', { cwd: target })) {
    const path = join(target, file)
    const source = readFileSync(path, 'utf8')
    const linked = source.replaceAll(
      /((?:from|import\() ?)['"](@pubring\/[^'"]+)['"]/g,
      (_, start, name) => `${start}'${relativePath(file, compiledFileOf(name))}'`,
    )
    if (linked !== source) writeFileSync(path, linked)
  }
}

/** The compiled file that the name of a module leads to, relative to `dist`. */
function compiledFileOf(name: string): string {
  return relative(root, resolve(name)).replace(/\.ts$/, '.js')
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
