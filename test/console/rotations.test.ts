import { beforeEach, expect, test } from 'vitest'
import { createClient } from '../../packages/client/src/index.ts'
import { openConsole } from '../support/console/console.ts'
import { ecKey } from '../support/keys/pem.ts'
import { rememberSecret } from '../support/secrets.ts'
import { waitUntil } from '../support/waiting.ts'

let project: string
let old: string
let projects = 0

// Short, so that a rotation need not wait long.
const console_ = await openConsole({ PUBRING_JWKS_MAX_AGE: '1' })
const page = await console_.open('/')

beforeEach(async () => {
  projects += 1
  project = (await client.projects.create({ name: `shop-${projects}` })).id
  old = await registered('old')
})

const registered = (name: string) => console_.register(project, name)
const rotateRoute = () => `/projects/${project}/rotate/${old}`
const { client, go } = console_
const press = (name: string) => page.getByRole('button', { name }).click()

test('a rotation is started with a new key, finished, and ended by deleting the old key', async () => {
  await go(rotateRoute())
  const lifetime = page.getByLabel('Maximum token lifetime')
  await page.getByRole('textbox', { name: 'Public key' }).fill(ecKey().publicKeyPem)
  await page.getByText('Valid key').waitFor()
  await page.getByLabel('Label').fill('new')
  const register = page.getByRole('button', { name: 'Register key' })
  expect(await register.isDisabled()).toBe(true)
  await lifetime.fill('60')
  await register.click()
  await page.getByText('Verifiers know “new”').waitFor()
  const fresh = (await client.keys.list(project)).find(({ label }) => label === 'new')
  await page.getByText(`"kid": "${fresh?.id}"`).waitFor()
  await expect.poll(() => lifetime.inputValue()).toBe('60')
  await page.getByRole('button', { name: 'Show curl command' }).waitFor()
  await lifetime.fill('5')
  // It takes two requests.
  await page.getByRole('button', { name: 'Show curl command' }).waitFor({ state: 'detached' })
  await press('The signer uses the new key')
  await page.getByText('Tokens of the old key may still be valid').waitFor()
  const [rotation] = await client.rotations.list(project)
  const finished = { from: old, to: fresh?.id, state: 'finished', tokenLifetime: 300 }
  expect(rotation).toMatchObject(finished)
  const { endTime = '', expireTime = '' } = rotation ?? {}
  expect(Date.parse(expireTime) - Date.parse(endTime)).toBe(300_000)
  await press('Deactivate the old key now')
  await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click()
  await page.getByText('The rotation is finished').waitFor()
  await page.getByText('Verifiers have dropped the old key').waitFor()
  await press('Delete the old key')
  await page.getByText('Rotation complete').waitFor()
  expect((await client.keys.list(project)).map(({ id }) => id)).toEqual([fresh?.id])
})

test('a colleague and another tab see the same step, and can take it', async () => {
  const fresh = await registered('new')
  const { apiKey } = await client.apiKeys.create({ name: 'grace', role: 'writer' })
  rememberSecret('an API key', apiKey)
  const colleague = createClient({ url: client.url, apiKey })
  await go(`/projects/${project}/keys`)
  await page.getByRole('row', { name: /old/ }).first().waitFor()
  const rotation = { from: old, to: fresh, tokenLifetime: 60 }
  const { id } = await colleague.rotations.start(project, rotation)
  // It appears without a reload.
  await page.getByRole('link', { name: 'Continue', exact: true }).click()
  await page.getByRole('group', { name: 'The rotation' }).getByText('grace').waitFor()
  await page.getByText('Verifiers know “new”').waitFor()
  await page.getByText(`pubring key rotate --resume ${id} --project shop-${projects}`).waitFor()
  await press('Abandon this rotation')
  await page.getByRole('dialog').getByRole('button', { name: 'Abandon', exact: true }).click()
  await page.getByRole('button', { name: 'Start with this key' }).waitFor()
  expect(await colleague.rotations.get(project, id)).toMatchObject({ state: 'abandoned' })
  await colleague.rotations.start(project, rotation)
  await page.getByRole('button', { name: 'The signer uses the new key' }).waitFor()
  await go(`/projects/${project}/history?type=rotation.abandoned,rotation.started`)
  await page.getByText('Abandoned rotation of key “old”').waitFor()
  await page.getByText('Started rotation of key “old” to “new”').first().waitFor()
  // The history of all projects has no list of their keys.
  await go('/history?type=rotation.abandoned,rotation.started,key.created')
  await page.getByText('Abandoned rotation of key “old”').waitFor()
  await page.getByText('Started rotation of key “old” to “new”').first().waitFor()
})

test('a step that is reached while the answer is on its way is shown', async () => {
  const rotation = { from: old, to: await registered('new'), tokenLifetime: 60 }
  const { id } = await client.rotations.start(project, rotation)
  const state = async () => (await client.rotations.get(project, id)).state
  const answers = /\/rotations(?:$|\?)/
  await page.route(
    answers,
    async (route) => {
      const response = await route.fetch()
      await waitUntil(async () => (await state()) === 'overlapping')
      await route.fulfill({ response })
    },
    { times: 1 },
  )
  await go(rotateRoute())
  await page.getByText('Verifiers know “new”').waitFor()
})

test('the page goes on by itself when the old key expires', async () => {
  const rotation = { from: old, to: await registered('new'), tokenLifetime: 60 }
  const { id } = await client.rotations.start(project, rotation)
  await waitUntil(async () => (await client.rotations.get(project, id)).state === 'overlapping')
  await client.rotations.finish(project, id)
  await go(rotateRoute())
  await page.getByText('Tokens of the old key may still be valid').waitFor()
  const expireTime = new Date(Date.now() + 4_000).toISOString()
  await client.keys.update(project, old, { expireTime })
  await page.getByText('The rotation is finished').waitFor()
})
