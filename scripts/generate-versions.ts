/**
 * Writes the version of package.json into the files that cannot read it: the chart, manifests and pages
 * that name the image, and the lock file of an example.
 *
 *   node scripts/generate-versions.ts
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readVersion } from '../packages/server/src/runtime/version.ts'

const root = join(import.meta.dirname, '..')

export const versionedFiles = [
  'deploy/helm/pubring/Chart.yaml',
  'docs/workloads/kubernetes.md',
  'examples/verifiers/node-live/package-lock.json',
  ...globSync('deploy/kubernetes/*.yaml', { cwd: root }),
]

/** The text with this version after each name of the image or the client, and in each field for it. */
export function withVersion(text: string, version: string): string {
  const place =
    /(^(?:appV|v)ersion: |image: "?pubring:|kubernetes\.io\/version: "|"@pubring\/client",\s+"version": ")[\w.-]+/gm
  return text.replaceAll(place, `$1${version}`)
}

if (import.meta.main) {
  for (const file of versionedFiles.map((each) => join(root, each))) {
    writeFileSync(file, withVersion(readFileSync(file, 'utf8'), readVersion()))
  }
}
