import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient } from '../../client/src/index.ts'
import {
  accessibilityViolations,
  openConsole,
  type TestConsole,
} from '../support/console/console.ts'
import { ecKey } from '../support/keys/pem.ts'
import { rememberSecret } from '../support/secrets.ts'

let console_: TestConsole
let page: Page
let project: string
let old: string
let projects = 0

beforeAll(async () => {
  // Short, so that a rotation need not wait long.
  console_ = await openConsole({ PUBRING_JWKS_MAX_AGE: '1' })
  page = await console_.open('/')
})
afterAll(() => console_.close())
beforeEach(async () => {
  projects += 1
  project = (await console_.client.projects.create({ name: `shop-${projects}` })).id
  old = await registered('old')
})

async function registered(name: string): Promise<string> {
  const { publicKeyPem } = ecKey()
  const body = { name, algorithm: 'ES256' as const, publicKeyPem }
  return (await console_.client.keys.create(project, body)).kid
}

const rotateRoute = () => `/projects/${project}/rotate/${old}`
const go = (route: string) => page.goto(`${console_.server.url}/console/#${route}`)
const press = (name: string) => page.getByRole('button', { name }).click()

test('a rotation is started with a new key, scheduled, taken at once and ended by deleting the old key', async () => {
  await go(rotateRoute())
  await page.getByRole('textbox', { name: 'Public key' }).fill(ecKey().publicKeyPem)
  await page.getByText('Valid key').waitFor()
  await page.getByLabel('Label').fill('new')
  await press('Register key')
  await page.getByText('Verifiers know “new”').waitFor()
  const fresh = (await console_.client.keys.list(project)).find(({ label }) => label === 'new')
  await page.getByText(`"kid": "${fresh?.id}"`).waitFor()
  const switched = page.getByRole('button', { name: 'The signer uses the new key' })
  expect(await switched.isDisabled()).toBe(true)
  await page.getByLabel('Maximum token lifetime').fill('5')
  await switched.click()
  await page.getByText('Tokens of the old key may still be valid').waitFor()
  const [rotation] = await console_.client.rotations.list(project)
  expect(rotation).toMatchObject({ from: old, to: fresh?.id, state: 'overlapping' })
  expect(Date.parse(rotation?.schedule?.disableTime ?? '') - Date.now()).toBeGreaterThan(240_000)
  expect(await accessibilityViolations(page)).toEqual([])

  await press('Deactivate the old key now')
  const ask = page.getByRole('dialog', { name: 'Deactivate the old key now?' })
  await ask.getByText('Tokens of this key may be valid until').waitFor()
  expect(await ask.getByRole('group', { name: 'The key' }).textContent()).toContain(old)
  expect(await accessibilityViolations(page)).toEqual([])
  await ask.getByRole('button', { name: 'Deactivate now' }).click()
  await page.getByText('The rotation is finished').waitFor()
  await page
    .getByText('The old key is no longer published. It stays until you delete it.')
    .waitFor()
  await page.getByText('Verifiers have dropped the old key').waitFor()
  await press('Delete the old key')
  await page.getByText('Rotation complete').waitFor()
  expect((await console_.client.keys.list(project)).map(({ id }) => id)).toEqual([fresh?.id])
})

test('a colleague and another tab see the same step, and can take it', async () => {
  const fresh = await registered('new')
  const { apiKey } = await console_.client.apiKeys.create({ name: 'grace', role: 'writer' })
  rememberSecret('an API key', apiKey)
  const colleague = createClient({ url: console_.client.url, apiKey })
  await go(`/projects/${project}/keys`)
  await page.getByRole('row', { name: /old/ }).first().waitFor()
  const { id } = await colleague.rotations.start(project, { from: old, to: fresh })
  // It appears without a reload.
  await page.getByRole('link', { name: 'Continue' }).click()
  await page.getByRole('group', { name: 'The rotation' }).getByText('grace').waitFor()
  await page.getByText('Verifiers know “new”').waitFor()
  await colleague.rotations.schedule(project, id, {
    disableTime: new Date(Date.now() + 3_600_000).toISOString(),
  })
  await page.getByText('grace scheduled this').waitFor()
  await press('Change the schedule')
  await page.getByLabel('Maximum token lifetime').fill('30')
  await page.getByRole('combobox', { name: 'Afterwards' }).click()
  await page.getByRole('option', { name: 'Delete it a week later' }).click()
  await press('The signer uses the new key')
  await page.getByText('first admin scheduled this').waitFor()
  const { schedule } = await colleague.rotations.get(project, id)
  const wait = Date.parse(schedule?.deleteTime ?? '') - Date.parse(schedule?.disableTime ?? '')
  expect(wait).toBe(7 * 86_400_000)

  await press('Remove the schedule')
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
  await page.getByLabel('Maximum token lifetime').waitFor()
  await press('Abandon this rotation')
  await page.getByRole('dialog').getByRole('button', { name: 'Abandon', exact: true }).click()
  await page.getByRole('button', { name: 'Start with this key' }).waitFor()
  expect(await colleague.rotations.get(project, id)).toMatchObject({ state: 'abandoned' })
  await go(`/projects/${project}/history?type=rotation.abandoned,rotation.started`)
  await page.getByText('Abandoned rotation of key “old”').waitFor()
  await page.getByText('Started rotation of key “old” to “new”').waitFor()
})

test('a scheduled step waits if its author could not take it any more, and says why', async () => {
  const fresh = await registered('new')
  const { id: keyId, apiKey } = await console_.client.apiKeys.create({
    name: 'ada',
    role: 'writer',
  })
  rememberSecret('an API key', apiKey)
  const author = createClient({ url: console_.client.url, apiKey })
  const { id, convergedTime } = await author.rotations.start(project, { from: old, to: fresh })
  const due = Math.max(Date.parse(convergedTime ?? ''), Date.now() + 1_000)
  await author.rotations.schedule(project, id, { disableTime: new Date(due).toISOString() })
  await console_.client.apiKeys.update(keyId, { active: false })
  await go(rotateRoute())
  await page.getByText('A scheduled step waits for a decision').waitFor()
  expect(await page.getByRole('alert').textContent()).toMatch(/^.*ada scheduled it/)
  expect(await console_.client.keys.get(project, old)).toMatchObject({ active: true })
  await press('Deactivate the old key now')
  await page.getByRole('dialog').getByRole('button', { name: 'Deactivate now' }).click()
  await page.getByText('Verifiers have dropped the old key').waitFor()
  await console_.client.keys.update(project, old, { active: true })
  await page.getByRole('button', { name: 'Start with this key' }).waitFor()
})
