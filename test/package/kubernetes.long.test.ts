import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/server/process.ts'

const project = join(import.meta.dirname, '../..')
const { folder } = temporaryFolder()
const run = promisify(execFile)

test('the Helm chart renders the manifests, which Kubernetes’ schemas accept', async ({ skip }) => {
  for (const tool of ['helm', 'kubernetes-validate']) {
    const isThere = await run(tool, ['--help']).then(
      () => true,
      () => false,
    )
    skip(!isThere, `needs ${tool}: see scripts/render-kubernetes.sh`)
  }
  await run(join(project, 'scripts/render-kubernetes.sh'), [folder])
  for (const file of ['sqlite.yaml', 'postgres.yaml']) {
    const committed = readFileSync(join(project, 'deploy/kubernetes', file), 'utf8')
    expect(readFileSync(join(folder, file), 'utf8')).toBe(committed)
  }
  for (const name of ['follower', 'keeper']) {
    const sidecar = join(project, `deploy/kubernetes/${name}.yaml`)
    await run('kubernetes-validate', ['--strict', '--kubernetes-version', '1.37.0', sidecar])
  }
  const chart = join(project, 'deploy/helm/pubring')
  const incomplete = run('helm', ['template', 'x', chart, '--kube-version', '1.37.0'])
  await expect(incomplete).rejects.toThrow('Set publicUrl to the address that verifiers use.')
}, 60_000)
