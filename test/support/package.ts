import { execFile } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { linkInstalled } from './installed.ts'

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

/** Runs `npm pack` in a copy of the checkout; returns the tarball. */
export async function packCheckout(where: string): Promise<string> {
  return pack(copyCheckout(where), where)
}

/** Builds the client in a copy of the checkout, `where/checkout`; returns its tarball. */
export async function packClient(where: string): Promise<string> {
  const client = join(copyCheckout(where), 'packages/client')
  await run('npm', ['run', 'build'], { cwd: client, env: plainEnvironment })
  return pack(join(client, 'dist'), where)
}

function copyCheckout(where: string): string {
  const copy = join(where, 'checkout')
  cpSync(checkout, copy, {
    recursive: true,
    filter: (file) => !excluded.includes(relative(checkout, file)),
  })
  linkInstalled(checkout, copy)
  return copy
}

async function pack(folder: string, where: string): Promise<string> {
  const target = join(where, 'packed')
  mkdirSync(target)
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', target], {
    cwd: folder,
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
