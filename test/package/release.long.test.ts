import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { withVersion } from '../../scripts/generate-versions.ts'
import { linkInstalled } from '../support/installed.ts'
import { plainEnvironment } from '../support/package.ts'
import { temporaryFolder } from '../support/server/process.ts'

const project = join(import.meta.dirname, '../..')
const { folder } = temporaryFolder()
const clone = join(folder, 'clone')
const version = '98.0.0-rc.1'
const run = promisify(execFile)

function typed(program: string, ...args: string[]) {
  return run(program, args, { cwd: clone, env: plainEnvironment })
}

async function commit(): Promise<void> {
  const author = ['-c', 'user.name=A', '-c', 'user.email=a@example.com']
  await typed('git', ...author, 'commit', '--quiet', '--all', '--message', 'Release')
}

mkdirSync(clone)
const copy = `git ls-files -z | xargs -0 ls -d | tar cT - | tar x -C ${clone}`
execFileSync('sh', ['-c', copy], { cwd: project })
linkInstalled(project, clone)
const testPackages = 'test/node_modules'
mkdirSync(join(clone, testPackages))
for (const name of readdirSync(join(project, testPackages))) {
  symlinkSync(join(project, testPackages, name), join(clone, testPackages, name))
}
await typed('git', 'init', '--quiet')
await typed('git', 'config', 'user.name', 'A')
await typed('git', 'config', 'user.email', 'a@example.com')
await typed('git', 'add', '--all')
await commit()

const release = () => typed('npm', 'run', '--silent', 'release')
const packedIn = async (file: string, member: string) =>
  (await run('tar', ['xzOf', join(clone, 'release', file), member], { maxBuffer: 2 ** 24 })).stdout

test('a release carries one version, and its packages, chart, SBOM and checksums are written', async () => {
  // The checks and tests of a commit, which run this test.
  const manifest = join(clone, 'package.json')
  const { scripts, ...others } = JSON.parse(readFileSync(manifest, 'utf8'))
  const changed = { ...others, scripts: { ...scripts, check: 'true', test: 'true' } }
  writeFileSync(manifest, `${JSON.stringify(changed, undefined, 2)}\n`)
  await typed('npm', 'version', version)
  await expect(release()).rejects.toThrow('release: Commit or discard your changes first.')
  await commit()
  await expect(release()).rejects.toThrow(`no section "## ${version}"`)
  const changelog = join(clone, 'CHANGELOG.md')
  const text = readFileSync(changelog, 'utf8').replace('\n## ', `\n## ${version}\n\n## `)
  writeFileSync(changelog, text)
  await commit()
  await expect(release()).rejects.toThrow(`No database of ${version} is kept`)
  await typed('npm', 'run', 'keep-release')
  await typed('git', 'add', '--all')
  await commit()
  await release()
  expect((await typed('git', 'tag', '--points-at', 'HEAD')).stdout).toBe(`v${version}\n`)
  expect((await typed('git', 'status', '--porcelain')).stdout).toBe('')
  expect(readdirSync(join(clone, 'release')).sort()).toEqual([
    'SHA256SUMS',
    `pubring-${version}.cdx.json`,
    `pubring-${version}.tgz`,
    `pubring-chart-${version}.tgz`,
    `pubring-client-${version}.tgz`,
  ])
  await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: join(clone, 'release') })
  for (const [file, member] of [
    [`pubring-${version}.tgz`, 'package/package.json'],
    [`pubring-client-${version}.tgz`, 'package/package.json'],
    [`pubring-${version}.tgz`, 'package/docs/openapi.json'],
  ] as const) {
    const { version: named, info } = JSON.parse(await packedIn(file, member))
    expect(named ?? info.version).toBe(version)
  }
  const chart = await packedIn(`pubring-chart-${version}.tgz`, 'pubring/Chart.yaml')
  expect(chart).toMatch(/^version: 98\.0\.0-rc\.1\nappVersion: 98\.0\.0-rc\.1$/m)
  const manifests = readFileSync(join(clone, 'deploy/kubernetes/sqlite.yaml'), 'utf8')
  expect(manifests).toBe(withVersion(manifests, version))
  const bill = readFileSync(join(clone, `release/pubring-${version}.cdx.json`), 'utf8')
  const { metadata, components } = JSON.parse(bill)
  expect(metadata.component).toMatchObject({ name: 'pubring', version })
  const names = components.map(({ name }: { name: string }) => name)
  expect(names).toEqual(expect.arrayContaining(['fastify', 'kysely']))
  expect(names).not.toContain('vitest')
  await expect(release()).rejects.toThrow(`v${version} is released`)
})
