/**
 * Compiles what the npm package holds into `dist/`, with every file in the place that it has in the
 * checkout, and puts the console there, which must have been built.
 *
 *   npm run build    builds both; `npm pack` and `npm publish` begin with it
 */
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

const root = join(import.meta.dirname, '..')
const target = join(root, 'dist')

rmSync(target, { recursive: true, force: true })
run('tsc', '--project', 'tsconfig.build.json')
for (const file of [...globSync('src/**/*.bin', { cwd: root }), 'console/dist']) {
  cpSync(join(root, file), join(target, file), { recursive: true })
}
writeManifest()

/** What the program reads of its own manifest. */
function writeManifest(): void {
  const { name, version, description, type } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  const manifest = JSON.stringify({ name, version, description, type }, undefined, 2)
  writeFileSync(join(target, 'package.json'), `${manifest}\n`)
}

/** Everything that is printed goes to stderr: `npm pack --json` speaks on stdout. */
function run(command: string, ...args: string[]): void {
  const program = join(root, 'node_modules', '.bin', command)
  execFileSync(program, args, { cwd: root, stdio: ['ignore', process.stderr, process.stderr] })
}
