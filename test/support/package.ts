import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'

const checkout = join(import.meta.dirname, '../..')
const run = promisify(execFile)

/** Parts of a checkout that packages do not need. */
const excluded = ['.git', 'data', 'dist', 'node_modules', 'test', 'test-results']

/**
 * The environment of this process, which may configure access to the registry, without the variables
 * of npm, the test runner and Pubring.
 */
export const plainEnvironment = Object.fromEntries([
  ...Object.entries(process.env).filter(
    ([name]) => !/^(npm_|pubring_|vitest|node_(env|options)$)/i.test(name),
  ),
  ['PATH', `${join(checkout, 'node_modules/.bin')}:${process.env.PATH}`],
])

/** Runs `npm pack` in a copy of the checkout, or of a package in it; returns the tarball. */
export async function packCheckout(where: string, part = '.'): Promise<string> {
  const copy = join(where, 'checkout')
  cpSync(checkout, copy, {
    recursive: true,
    filter: (file) => !excluded.includes(relative(checkout, file)),
  })
  symlinkSync(join(checkout, 'node_modules'), join(copy, 'node_modules'))
  const target = join(where, 'packed')
  mkdirSync(target)
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', target], {
    cwd: join(copy, part),
    env: plainEnvironment,
  })
  return join(target, fileNameIn(stdout))
}

/** npm 10 prints an array of packages, npm 11 may print an object. */
function fileNameIn(printed: string): string {
  const [, name] = /"filename": "([^"]+)"/.exec(printed) ?? []
  if (name === undefined) throw new Error(`npm pack named no file:\n${printed}`)
  return name
}
