/**
 * Installs the packages of test/package.json, as its lock file has them, unless they are there. They are
 * large, and nothing but the tests needs them.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../test/', import.meta.url))
const lock = `${folder}package-lock.json`
const installed = `${folder}node_modules/.installed.json`

if (!existsSync(installed) || !readFileSync(installed).equals(readFileSync(lock))) {
  const npm = [process.env.npm_execpath, 'ci', '--prefix', folder]
  const { status } = spawnSync(process.execPath, npm, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
  copyFileSync(lock, installed)
}
