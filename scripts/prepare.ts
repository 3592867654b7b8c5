import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** After `npm ci`: builds the console if its development packages are installed. */
const vite = new URL('../node_modules/vite/bin/vite.js', import.meta.url)
if (existsSync(vite)) {
  const { status } = spawnSync('npm', ['run', '--silent', 'build:console'], { stdio: 'inherit' })
  process.exitCode = status ?? 1
}
