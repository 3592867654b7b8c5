import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { rejectUnknownVariables } from '../../packages/server/src/config/server-settings.ts'
import { temporaryFolder } from '../support/server/process.ts'

const run = promisify(execFile)
const { folder } = temporaryFolder()

const read = (file: string) => readFileSync(join(import.meta.dirname, '../../deploy', file), 'utf8')

/** The variables named in the file. */
const variablesIn = (text: string) =>
  Object.fromEntries([...text.matchAll(/\bPUBRING_[A-Z_]+\b/g)].map(([name]) => [name, '']))

const files = [
  'Dockerfile',
  'compose.yaml',
  'compose.postgres.yaml',
  'pubring.service',
  'pubring-follow.service',
  'pubring-keep.service',
  'pubring-backup.service',
  'pubring-audit.service',
  'kubernetes/follower.yaml',
  'kubernetes/keeper.yaml',
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

test('systemd accepts the drop-in of a gateway without a warning', async ({ skip }) => {
  const service = `[Service]\nExecStart=${process.execPath}\n`
  writeFileSync(join(folder, 'gateway.service'), read('pubring-gateway.conf') + service)
  const follower = read('pubring-follow.service').replaceAll(
    '/usr/local/bin/pubring',
    process.execPath,
  )
  writeFileSync(join(folder, 'pubring-follow.service'), follower)
  await expectVerified('gateway.service', skip)
})

const units = ['pubring', 'pubring-follow', 'pubring-keep', 'pubring-backup', 'pubring-audit']
test.for([
  ...units.map((name) => `${name}.service`),
  'pubring-backup.timer',
  'pubring-audit.timer',
])('systemd accepts %s without a warning', async (name, { skip }) => {
  // The check also looks for the programs.
  writeFileSync(
    join(folder, name),
    read(name).replaceAll('/usr/local/bin/pubring', process.execPath),
  )
  await expectVerified(name, skip)
})

test.for(units)('systemd finds %s little exposed', async (name, { skip }) => {
  const file = join(folder, `${name}.service`)
  writeFileSync(file, read(`${name}.service`))
  const { stdout = '', code } = await run('systemd-analyze', [
    'security',
    '--offline=true',
    file,
  ]).catch((error) => error)
  skip(code === 'ENOENT', 'needs systemd-analyze')
  const [, exposure] = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout) ?? []
  expect(Number(exposure)).toBeLessThan(3)
})

async function expectVerified(name: string, skip: (when: boolean, note: string) => void) {
  const { error, stderr = '' } = await run('systemd-analyze', ['verify', join(folder, name)]).then(
    ({ stderr }) => ({ error: undefined, stderr }),
    (error) => ({ error, stderr: error.stderr }),
  )
  skip(error?.code === 'ENOENT', 'needs systemd-analyze')
  const own = stderr.split('\n').filter((line: string) => line.includes(name))
  expect({ code: error?.code, own }).toEqual({ code: undefined, own: [] })
}

test.each(['sqlite', 'postgres', 'follower', 'keeper'])(
  'Kubernetes adds no variables of services to a pod (%s): they would be refused',
  (file) => {
    expect(() => rejectUnknownVariables({ PUBRING_SERVICE_HOST: '10.0.0.1' })).toThrow(
      /a link that Kubernetes sets/,
    )
    expect(read(`kubernetes/${file}.yaml`)).toMatch(/^ {6}enableServiceLinks: false$/m)
  },
)
