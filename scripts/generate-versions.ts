/**
 * Writes the version of package.json into the files that cannot read it: the chart, and manifests and
 * pages that name the image.
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
  ...globSync('deploy/kubernetes/*.yaml', { cwd: root }),
]

/** The text with this version after each name of the image and in each field for it. */
export function withVersion(text: string, version: string): string {
  const place = /(^(?:appV|v)ersion: |image: "?pubring:|app\.kubernetes\.io\/version: ")[\w.-]+/gm
  return text.replaceAll(place, `$1${version}`)
}

if (import.meta.main) {
  for (const file of versionedFiles.map((each) => join(root, each))) {
    writeFileSync(file, withVersion(readFileSync(file, 'utf8'), readVersion()))
  }
}
