import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rejectUnknownVariables } from '../../src/config/server-settings.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, '../../deploy', file), 'utf8')

/** The variables named in the file. */
const variablesIn = (text: string) =>
  Object.fromEntries([...text.matchAll(/\bPUBRING_[A-Z_]+\b/g)].map(([name]) => [name, '']))

const files = [
  'Dockerfile',
  'compose.yaml',
  'compose.postgres.yaml',
  'pubring.service',
  'kubernetes/sqlite.yaml',
  'kubernetes/postgres.yaml',
  'helm/pubring/templates/_helpers.tpl',
]

test.each(files)('deploy/%s sets only known variables', (file) => {
  // The prefix of all variables is mentioned in comments.
  const { PUBRING_: _, ...variables } = variablesIn(read(file))
  expect(Object.keys(variables).length).toBeGreaterThan(0)
  rejectUnknownVariables(variables)
})

test.each(['sqlite', 'postgres'])(
  'Kubernetes adds no variables of services to a pod (%s): they would be unknown settings',
  (engine) => {
    expect(() => rejectUnknownVariables({ PUBRING_SERVICE_HOST: '10.0.0.1' })).toThrow(
      /not a known/,
    )
    expect(read(`kubernetes/${engine}.yaml`)).toMatch(/^ {6}enableServiceLinks: false$/m)
  },
)
