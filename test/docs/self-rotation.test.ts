import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openShell, type Ran, type Shell } from '../cli/support.ts'
import { startApp } from '../support/app/app.ts'
import { ageKey } from '../support/app/keepers.ts'

const file = join(import.meta.dirname, '../../docs/workloads/self-rotation.md')
const page = readFileSync(file, 'utf8')

const server = await startApp({ config: { jwksMaxAge: 0, refusalDelayMs: 0 } })
const url = await server.listen()
/** Has no API key. */
const service = openShell(() => ({ PUBRING_URL: url }))
const admin = openShell(() => ({ PUBRING_URL: url, PUBRING_API_KEY: server.admin }))

/** The commands of the page that begin so. */
function block(start: string): string {
  const found = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = '']) => text)
  const text = found.find((each) => each.includes(start))
  expect(text, start).toBeDefined()
  return text ?? ''
}

/** Runs a command of the page, in which the file and the id (a kid or that of the rule) are those of this test. */
function run(shell: Shell, start: string, id = ''): Promise<Ran> {
  const words = block(start).trim().replaceAll('"', '').split(' ').slice(1)
  const values = new Map([
    ['$PROJECT', server.project.id],
    ['KID', id],
    ['$RULE', id],
    ['signer', join(service.folder, 'signer')],
  ])
  return shell.pubring(words.map((word) => values.get(word) ?? word))
}

const read = async (kid: string) =>
  (await server.send('GET', `/v1/projects/payments/jwt-keys/${kid}`)).json()

test('the page does what it says', async () => {
  expect((await run(admin, 'pubring access-rule create')).code).toBe(0)
  const rules = (await server.send('GET', '/v1/access-rules')).json()
  expect(rules).toMatchObject([{ keySource: 'project', role: 'registrar', singleUse: true }])
  const signer = join(service.folder, 'signer')
  const turn = async (shell: Shell) => {
    const ran = await run(shell, 'pubring key keep')
    expect(ran.code, ran.stderr).toBe(0)
    const { kid } = JSON.parse(readFileSync(join(signer, 'current.jwk'), 'utf8'))
    ageKey(signer)
    return kid as string
  }
  const old = await turn(admin)
  const kid = await turn(service)
  expect((await read(kid)).details.introducedBy).toBe(old)
  const events: { subject: { id: string } }[] = JSON.parse(
    (await run(admin, 'pubring events')).stdout,
  )
  const workload = { ruleId: rules[0].id, subject: old }
  const created = { type: 'key.created', actor: { workload }, subject: { id: kid } }
  expect(events.find(({ subject }) => subject.id === kid)).toMatchObject(created)
  const third = await turn(service)
  expect((await read(third)).details.introducedBy).toBe(kid)

  const ended = await run(admin, 'pubring key deactivate', kid)
  expect(ended.code, ended.stderr).toBe(0)
  for (const each of [kid, third]) expect((await read(each)).active).toBe(false)
  expect((await run(admin, 'pubring access-rule update', rules[0].id)).code).toBe(0)
  expect(await run(service, 'pubring key keep')).toMatchObject({ code: 4, stdout: '' })
})
