import { execFile } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createClient } from '../../packages/client/src/index.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

/** Declarations of the names that the programs leave to their reader. */
const globals = `
declare const token: string
declare const publicKeyPem: string
declare const issuer: string
/** A checkpoint that was verified before. */
declare const stored: string
`

test('every TypeScript program of the documentation compiles, with the strictest options', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-programs-'))
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'globals.d.ts'), globals)
  const pages = globSync('{packages/*,docs,docs/workloads}/*.md', { cwd: root })
  for (const page of pages) {
    const blocks = [...read(page).matchAll(/^```ts\n([\s\S]*?)^```$/gm)]
    for (const [number, [, program = '']] of blocks.entries()) {
      const name = `${page.replaceAll('/', '-')}-${number + 1}.ts`
      // Makes it a module if it imports nothing.
      writeFileSync(join(folder, name), `${program}\nexport {}\n`)
    }
  }
  const compilerOptions = {
    lib: ['esnext', 'dom', 'dom.iterable', 'dom.asynciterable'],
    noUnusedLocals: false,
  }
  const config = { extends: join(root, 'tsconfig.json'), compilerOptions, include: ['*.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const compiled = promisify(execFile)(process.execPath, [tsc, '-p', folder])
  const { stdout } = await compiled.catch((failure) => failure)
  expect(stdout).toBe('')
  rmSync(folder, { recursive: true })
})

const { url: _, ...client } = createClient({ url: 'https://keys.example.com' })
test.each(Object.entries(client))(
  'the README of the client lists all of client.%s',
  (name, all) => {
    const [, row = ''] =
      new RegExp(`^\\| \`client\\.${name}\` \\| (.*) \\|$`, 'm').exec(
        read('packages/client/README.md'),
      ) ?? []
    const listed = [...row.matchAll(/`(\w+)`/g)].map(([, operation]) => operation)
    expect(listed.sort()).toEqual(Object.keys(all).sort())
  },
)

test('the package of the client has the license of the project', () => {
  expect(read('packages/client/LICENSE')).toBe(read('LICENSE'))
})
