import type { Page } from 'playwright-core'
import { beforeEach, describe, expect, test } from 'vitest'
import { openConsole } from '../support/console/console.ts'
import { freshPem } from '../support/keys/fresh-keys.ts'

let project: string
let projects = 0

// Short, so that a rotation need not wait long.
const console_ = await openConsole({ PUBRING_JWKS_MAX_AGE: '1' })

beforeEach(async () => {
  projects += 1
  project = (await console_.client.projects.create({ name: `shop-${projects}` })).id
})

const registered = (name: string) => console_.register(project, name)

const row = (page: Page, kid: string) => page.locator(`tr[data-id="${kid}"]`)

async function choose(page: Page, label: string, item: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${label}` }).click()
  await page.getByRole('menuitem', { name: item }).click()
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

describe('deactivating a key', () => {
  test('names the key and warns if it is the last active one', async () => {
    const kid = await registered('winter')
    const page = await console_.show(`/projects/${project}`)
    await press(page, 'Deactivate winter')
    const dialog = page.getByRole('dialog', { name: 'Deactivate “winter”?' })
    await dialog.getByText('All tokens of this project will stop verifying').waitFor()
    await dialog.getByRole('button', { name: 'Deactivate' }).click()
    await row(page, kid).getByText('off', { exact: true }).waitFor()
    expect(await console_.client.keys.get(project, kid)).toMatchObject({ active: false })
    await page.getByText('and none is active').waitFor()
  })

  test('warns if an ML-DSA key alone remains, which is not in jwks.json', async () => {
    const kid = await registered('winter')
    const publicKeyPem = freshPem('ML-DSA-44')
    await console_.register(project, 'later', { algorithm: 'ML-DSA-44', publicKeyPem })
    const page = await console_.show(`/projects/${project}/keys/${kid}`)
    const warning = 'This is the last active key in jwks.json.'
    await page.getByText(warning).waitFor()
    await press(page, 'Deactivate')
    await page.getByRole('dialog').getByText(warning).waitFor()
  })

  test('asks for the reason, which the page of the key shows with its end', async () => {
    const kid = await registered('stolen')
    await registered('other')
    const page = await console_.show(`/projects/${project}/keys/${kid}`)
    await press(page, 'Deactivate')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason').selectOption('compromised')
    await dialog.getByText('it counts as valid at no time').waitFor()
    await dialog.getByRole('button', { name: 'Deactivate' }).click()
    await page.getByText(/^.+, compromised$/).waitFor()
    await page.getByText('as compromised').waitFor()
    const { details } = await console_.client.keys.get(project, kid)
    expect(details.ended).toMatchObject({ reason: 'compromised' })
  })

  test('and deleting it names the key and who changed it last', async () => {
    const kid = await registered('spring')
    await registered('summer')
    await console_.client.keys.update(project, kid, { active: false })
    const page = await console_.show(`/projects/${project}`)
    await choose(page, 'spring', 'Delete')
    const dialog = page.getByRole('dialog', { name: 'Delete “spring”?' })
    const identity = dialog.getByRole('group', { name: 'The key' })
    await identity.getByText('Deactivated by first admin').waitFor()
    await expect
      .poll(() => identity.textContent())
      .toMatch(new RegExp(`spring.*off.*${kid}.*ES256 P-256.*Registered.*seconds? ago|now`))
    await dialog.getByRole('button', { name: 'Delete permanently' }).click()
    await row(page, kid).waitFor({ state: 'detached' })
  })
})

test('an expiry warns if no other key is active after it', async () => {
  const kid = await registered('winter')
  const page = await console_.show(`/projects/${project}`)
  await choose(page, 'winter', 'Set expiry')
  const dialog = page.getByRole('dialog', { name: 'Expiry of “winter”' })
  const warning = dialog.getByText('No other key is active after that')
  expect(await warning.count()).toBe(0)
  await dialog.getByLabel('Expires at').fill('2099-01-01T00:00')
  await warning.waitFor()
  await registered('spring')
  await warning.waitFor({ state: 'detached' })
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(await console_.client.keys.get(project, kid)).toHaveProperty('expireTime')
})

test('changes made elsewhere appear without reloading', async () => {
  const first = await registered('here')
  const page = await console_.show(`/projects/${project}`)
  await row(page, first).waitFor()
  const second = await registered('there')
  await row(page, second).getByText('spreading').waitFor()
  await console_.client.keys.update(project, first, { active: false, label: 'renamed' })
  await row(page, first).getByText('off', { exact: true }).waitFor()
  await row(page, first).getByText('renamed').waitFor()
  await row(page, second).getByText('current', { exact: true }).waitFor()
  const third = await registered('next')
  await console_.client.rotations.start(project, { from: second, to: third, tokenLifetime: 60 })
  await row(page, third)
    .getByText(/spreading · \d s/)
    .waitFor()
  // By the passing of time alone.
  await row(page, second).getByText('previous', { exact: true }).waitFor()
  await row(page, third).getByText('current', { exact: true }).waitFor()
  await row(page, second).getByRole('link', { name: 'Continue there' }).waitFor()
  await console_.client.projects.rename(project, `seen-${projects}`)
  await page.getByRole('heading', { name: `seen-${projects}` }).waitFor()
  const fourth = await registered('last')
  await console_.go(`/projects/${project}/keys/${fourth}`)
  await page.getByText(/spreading · \d s/).waitFor()
  await page.getByText('current', { exact: true }).waitFor()
})

test('a label of markup and scripts is rendered as text in lists, menus, dialogs and the history', async () => {
  const label = [
    '<img src=x onerror=document.title=1>',
    "');document.title=1//",
    '{{7*7}}<script>document.title=1</script>',
    'javascript:document.title=1',
  ].join(' ')
  const kid = await registered(label)
  const page = await console_.show(`/projects/${project}`)
  await row(page, kid).getByText(label, { exact: true }).waitFor()
  const deactivate = () => press(page, `Deactivate ${label}`)
  const item = (name: string) => () => choose(page, label, name)
  for (const open of [item('Rename'), item('Set expiry'), deactivate]) {
    await open()
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  await row(page, kid).getByRole('link', { name: label, exact: true }).click()
  await page.getByRole('heading', { name: label, exact: true }).waitFor()
  await page.getByRole('link', { name: 'Rotate' }).click()
  await page.getByText(`“${label}”`).first().waitFor()
  await console_.go(`/projects/${project}/history`)
  await page.getByText(label).first().waitFor()
  expect(await page.title()).toMatch(/Pubring/)
  expect(await page.locator('img[src=x]').count()).toBe(0)
})
