/**
 * Makes the release that package.json names: checks and tests the commit, writes what is published into
 * `release/` (the packages of the server and the client, the chart, an SBOM and checksums), and tags the
 * commit. Publishes nothing.
 *
 *   npm version 1.1.0      writes the number
 *   npm run keep-release   commit both with a section of CHANGELOG.md
 *   npm run release
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readVersion } from '../packages/server/src/runtime/version.ts'

const root = join(import.meta.dirname, '..')
const target = join(root, 'release')
const version = readVersion()
const tag = `v${version}`

/** Runs a program; returns what it prints on stdout. */
function run(program: string, args: string[], cwd = root): string {
  const stdio: ['ignore', 'pipe', 'inherit'] = ['ignore', 'pipe', 'inherit']
  return execFileSync(program, args, { cwd, encoding: 'utf8', stdio, maxBuffer: 2 ** 28 })
}

const read = (file: string) => readFileSync(join(root, file), 'utf8')
const write = (file: string, text: string) => writeFileSync(join(target, file), text)
const say = (text: string) => process.stderr.write(`release: ${text}\n`)

/** Why the commit cannot be released; undefined if nothing speaks against it. */
function obstacle(): string | undefined {
  if (run('git', ['status', '--porcelain']) !== '') return 'Commit or discard your changes first.'
  if (run('git', ['tag', '--list', tag]) !== '') return `${tag} is released: npm version NUMBER.`
  if (!read('CHANGELOG.md').includes(`\n## ${version}\n`)) {
    return `CHANGELOG.md has no section "## ${version}".`
  }
  if (!existsSync(join(root, 'test/fixtures/releases', version))) {
    return `No database of ${version} is kept: npm run keep-release.`
  }
  return undefined
}

/** The packages that an installation has besides this one, as CycloneDX: those of the lock file. */
function billOfMaterials(): string {
  // npm gives the document the name of the folder.
  const temporary = mkdtempSync(join(tmpdir(), 'pubring-sbom-'))
  const folder = join(temporary, 'pubring')
  mkdirSync(folder)
  const { workspaces: _, ...manifest } = JSON.parse(read('package.json'))
  const lock = JSON.parse(read('package-lock.json'))
  const packages = Object.fromEntries(
    Object.entries<object>(lock.packages)
      .filter(([path]) => !/^packages\/|^node_modules\/@pubring\//.test(path))
      .map(([path, entry]) => [path, path === '' ? manifest : entry]),
  )
  try {
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ ...lock, packages }))
    const format = ['--sbom-format=cyclonedx', '--sbom-type=application']
    return run('npm', ['sbom', '--package-lock-only', '--omit=dev', ...format], folder)
  } finally {
    rmSync(temporary, { recursive: true })
  }
}

const reason = obstacle()
if (reason !== undefined) {
  say(reason)
  process.exit(1)
}
for (const script of ['check', 'test', 'build']) {
  say(`npm run ${script}`)
  run('npm', ['run', '--silent', script])
}
run('npm', ['run', '--silent', 'build', '--workspace=@pubring/client'])
rmSync(target, { recursive: true, force: true })
mkdirSync(target)
for (const folder of ['.', 'packages/client/dist']) {
  run('npm', ['pack', '--ignore-scripts', '--pack-destination', target, join(root, folder)])
}
run(
  'tar',
  ['czf', join(target, `pubring-chart-${version}.tgz`), 'pubring'],
  join(root, 'deploy/helm'),
)
write(`pubring-${version}.cdx.json`, billOfMaterials())
const sums = readdirSync(target).map((file) => {
  const digest = createHash('sha256')
    .update(readFileSync(join(target, file)))
    .digest('hex')
  return `${digest}  ${file}\n`
})
write('SHA256SUMS', sums.join(''))
run('git', ['tag', '--annotate', tag, '--message', `Pubring ${version}`])
say(
  `${tag} is tagged, and release/ has what to publish. The image: scripts/build-image.sh pubring:${version}`,
)
