import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'

const checkout = join(import.meta.dirname, '../..')
const run = promisify(execFile)

/** What a checkout has beside its files, and what no package needs. */
const left = ['.git', 'data', 'dist', 'node_modules', 'test', 'test-results']

/**
 * The environment of whoever runs the tests (how the registry is reached may stand there), without what
 * npm, the test runner and Pubring are told by it.
 */
export const plainEnvironment = Object.fromEntries([
  ...Object.entries(process.env).filter(
    ([name]) => !/^(npm_|pubring_|vitest|node_(env|options)$)/i.test(name),
  ),
  ['PATH', `${join(checkout, 'node_modules/.bin')}:${process.env.PATH}`],
])

/** The tarball that `npm pack` makes in a copy of the checkout, or of a package in it. */
export async function packCheckout(where: string, part = '.'): Promise<string> {
  const copy = join(where, 'checkout')
  cpSync(checkout, copy, {
    recursive: true,
    filter: (file) => !left.includes(relative(checkout, file)),
  })
  symlinkSync(join(checkout, 'node_modules'), join(copy, 'node_modules'))
  const target = join(where, 'packed')
  mkdirSync(target)
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', target], {
    cwd: join(copy, part),
    env: plainEnvironment,
  })
  return join(target, nameIn(stdout))
}

/** npm 10 prints an array of what was packed, npm 11 may print it by name. */
function nameIn(printed: string): string {
  const [, name] = /"filename": "([^"]+)"/.exec(printed) ?? []
  if (name === undefined) throw new Error(`npm pack named no file:\n${printed}`)
  return name
}
