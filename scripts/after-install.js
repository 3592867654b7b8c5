/**
 * Runs after npm has changed the dependencies of a checkout: builds the console if its development
 * packages are installed. If the pinned Node cannot start, removes its link, so that the system's is
 * used. npm runs no script of a checkout, `preinstall` included, before it has unpacked all packages. Plain JavaScript, which every Node runs.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const path = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url))
const pinned = path('node_modules/.bin/node')
const isBroken = existsSync(pinned) && spawnSync(pinned, ['--version']).status !== 0
// The Node of npm runs this a second time after a failure, which the pinned one has explained.
if (existsSync(pinned) && !isBroken && realpathSync(pinned) !== process.execPath) process.exit(1)

const isTooOld = Number.parseInt(process.versions.node, 10) < 24

if (isBroken && isTooOld) {
  process.stderr.write(
    `pubring: Node 26, which is installed with the dependencies, needs the library libatomic1, and the system's Node is ${process.version}. ` +
      'Run "apt-get update && apt-get install libatomic1" (Fedora: "dnf install libatomic"), then "npm ci" again.\n',
  )
  process.exit(1)
}
if (isBroken) rmSync(pinned)

// C headers, 67 MB, which nothing here compiles against.
const platforms = path('node_modules/node/node_modules/')
for (const name of existsSync(platforms) ? readdirSync(platforms) : []) {
  rmSync(`${platforms}${name}/include`, { recursive: true, force: true })
}

// For an older one npm leaves out parts of the bundler. A recent npm stops before, because of `devEngines`.
const [, major, minor] = /node\/v(\d+)\.(\d+)/.exec(process.env.npm_config_user_agent ?? '') ?? []
const oldest = { 20: 19, 21: Number.POSITIVE_INFINITY, 22: 12 }
if (major < 20 || minor < oldest[major]) {
  process.stderr.write(
    `pubring: npm must run with Node 20.19, 22.12 or later, and this is Node ${major}.${minor}. ` +
      'Install one of them, then run "npm ci" again.\n',
  )
  process.exit(1)
}

const vite = path('node_modules/vite/bin/vite.js')
if (existsSync(vite)) {
  const build = [vite, 'build', '--config', 'console/vite.config.ts', '--logLevel', 'warn']
  const { status } = spawnSync(process.execPath, build, { cwd: path('.'), stdio: 'inherit' })
  process.exitCode = status ?? 1
} else if (!existsSync(path('console/dist/index.html'))) {
  process.stderr.write(
    'pubring: the console is not built, because that needs the development packages. ' +
      'Run "npm ci", then "npm prune --omit=dev".\n',
  )
}
