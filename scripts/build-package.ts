/**
 * Compiles the sources into `dist/`, with the layout of the checkout, and copies the console, which
 * must be built.
 *
 *   npm run build    builds both; runs before `npm pack` and `npm publish`
 */
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

const root = join(import.meta.dirname, '..')
const target = join(root, 'dist')

rmSync(target, { recursive: true, force: true })
run('tsc', '--project', 'tsconfig.build.json')
const copied = globSync(['src/**/*.{bin,LICENSE}', 'docs/openapi.json'], { cwd: root })
for (const file of [...copied, 'console/dist']) {
  cpSync(join(root, file), join(target, file), { recursive: true })
}
writeManifest()

/** The parts of the manifest that the program reads. */
function writeManifest(): void {
  const { name, version, description, type } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  const manifest = JSON.stringify({ name, version, description, type }, undefined, 2)
  writeFileSync(join(target, 'package.json'), `${manifest}\n`)
}

/** Prints to stderr only, since `npm pack --json` writes to stdout. */
function run(command: string, ...args: string[]): void {
  const program = join(root, 'node_modules', '.bin', command)
  execFileSync(program, args, { cwd: root, stdio: ['ignore', process.stderr, process.stderr] })
}
