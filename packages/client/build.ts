/** Writes the package that is published into `dist/`: what the sources compile to, and the pages. */
import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

const root = import.meta.dirname
const target = join(root, 'dist')
const readManifest = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
const { version } = readManifest(join(root, '../..'))
const { name, private: _, scripts: _scripts, exports, ...manifest } = readManifest(root)

rmSync(target, { recursive: true, force: true })
execFileSync('tsc', ['--project', root], { stdio: ['ignore', process.stderr, process.stderr] })
for (const file of ['README.md', 'LICENSE']) cpSync(join(root, file), join(target, file))
const published = {
  name,
  version,
  ...manifest,
  exports: compiledExports(exports),
  publishConfig: { access: 'public' },
}
writeFileSync(join(target, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`)

/** The exports as compiled, without those that only the other packages here import. */
function compiledExports(sources: Record<string, string>) {
  const entries = Object.entries(sources).filter(([name]) => !name.startsWith('./internal/'))
  return Object.fromEntries(
    entries.map(([name, file]) => {
      const path = file.replace(/^\.\/src\//, './').replace(/\.ts$/, '')
      return [name, { types: `${path}.d.ts`, default: `${path}.js` }]
    }),
  )
}
