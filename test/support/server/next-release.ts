import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readVersion } from '../../../packages/server/src/runtime/version.ts'
import { linkInstalled } from '../installed.ts'

const project = join(import.meta.dirname, '../../..')

/**
 * Makes a release 99.0.0 of this checkout in the folder, with one more migration, beside which this
 * release can run. Returns its program.
 */
export function makeNextRelease(folder: string): string {
  for (const part of ['bin', 'packages', 'package.json']) {
    cpSync(join(project, part), join(folder, part), { recursive: true })
  }
  for (const part of ['console', 'docs']) symlinkSync(join(project, part), join(folder, part))
  linkInstalled(project, folder)
  replaceIn(join(folder, 'package.json'), `"version": "${readVersion()}"`, '"version": "99.0.0"')
  const migrations = join(folder, 'packages/server/src/kernel/storage/migrations')
  writeFileSync(join(migrations, '9999-notes.ts'), migration)
  const index = join(migrations, 'index.ts')
  replaceIn(index, 'import { createTables', `${importNotes}\nimport { createTables`)
  const first = "'0001-tables': createTables,\n"
  replaceIn(index, first, `${first}  '9999-notes': { ...notes, oldestRelease: '0.1.0' },\n`)
  return join(folder, 'bin/pubring.js')
}

const importNotes = "import { notes } from './9999-notes.ts'"

const migration = `
export const notes = {
  async up(db) {
    await db.schema.alterTable('jwt_key').addColumn('note', 'text').execute()
    await db.schema.createIndex('jwt_key_note').on('jwt_key').column('note').execute()
  },
}
`

function replaceIn(file: string, text: string, replacement: string): void {
  const content = readFileSync(file, 'utf8')
  if (!content.includes(text)) throw new Error(`${file} does not contain ${text}`)
  writeFileSync(file, content.replace(text, replacement))
}
