import { expect, test } from 'vitest'
import { linkChanges } from '../../../packages/server/src/features/registration-links/changes.ts'
import { maxOpenLinks } from '../../../packages/server/src/features/registration-links/contract.ts'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import { openLedgerReader } from '../../../packages/server/src/registry.ts'
import { keysUrl } from '../../support/app/keys.ts'
import {
  bringKey,
  createLink,
  exchange,
  keyBody,
  linksUrl,
  openLink,
  startLinks,
} from '../../support/app/registration-links.ts'
import { linkRecord } from '../../support/store/links.ts'
import { origin } from '../../support/store/store.ts'

const server = await startLinks()

test('of many browsers that open a link at once, one succeeds', async () => {
  const { id, secret } = await createLink(server)
  const answers = await Promise.all(Array.from({ length: 8 }, () => exchange(server, secret)))
  const statuses = answers.map(({ statusCode }) => statusCode)
  expect(statuses.toSorted()).toEqual([201, ...Array(7).fill(404)])
  const opened = (await server.events()).filter(
    ({ type, subject }) => type === 'registration_link.opened' && subject.id === id,
  )
  expect(opened).toHaveLength(1)
})

test('a key is registered before the revocation of its link, or not at all', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { id, secret } = await createLink(server)
    const browser = await openLink(server, secret)
    const [created] = await Promise.all([
      browser.send('POST', keysUrl, keyBody()),
      server.send('DELETE', `${linksUrl}/${id}`),
    ])
    const events = (await server.events()).slice(-2).map(({ type }) => type)
    if (created.statusCode === 201) {
      expect(events).toEqual(['key.created', 'registration_link.revoked'])
    } else {
      expect([created.statusCode, created.json().code]).toEqual([401, 'invalid_session'])
      expect(events.at(-1)).toBe('registration_link.revoked')
    }
  }
})

test('no two requests together exceed the limit of open links', async () => {
  const open = async () => (await server.send('GET', linksUrl)).json().filter(isOpen).length
  const isOpen = ({ state }: { state: string }) => state === 'open'
  for (let left = maxOpenLinks - 1 - (await open()); left > 0; left -= 1) await createLink(server)
  const body = { note: 'ACME' }
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => server.send('POST', linksUrl, { body })),
  )
  expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([201, 409, 409, 409])
  expect(await open()).toBe(maxOpenLinks)
})

test('the open links are listed among thousands that have ended', async () => {
  const { json } = await server.send('POST', '/v1/projects', { body: { name: 'busy' } })
  const { id: projectId } = json()
  const url = '/v1/projects/busy/registration-links'
  const first = await createLink(server, { note: 'the first' }, url)
  const end = async () => {
    const link = linkRecord(projectId, { expireTime: '2026-01-03T00:00:00.000Z' })
    const time = server.context.clock.now()
    const change = { projectId, id: link.id, link }
    await server.context.store.commit(linkChanges.createLink, {
      origin: origin(new Date(time).toISOString()),
      ...change,
    })
  }
  const count = 2_000
  for (let batch = 0; batch < count / 50; batch += 1) {
    await Promise.all(Array.from({ length: 50 }, end))
  }
  const last = await createLink(server, { note: 'the last' }, url)
  const browser = await openLink(server, last.secret)
  expect(browser.opened.json().note).toBe('the last')
  const listed: { id: string; state: string }[] = (await server.send('GET', url)).json()
  expect(listed.length).toBe(201)
  expect(listed.at(0)).toMatchObject({ id: last.id, state: 'used' })
  expect(listed.at(-1)).toMatchObject({ id: first.id, state: 'open' })
})

test('the tables are what the ledgers say', async () => {
  await bringKey(await openLink(server, (await openSlot()).secret))
  const reader = await openLedgerReader(server.database.url)
  const verdicts = await Array.fromAsync(verifyLedgers(reader))
  expect(verdicts.flatMap(({ differences }) => differences)).toEqual([])
  await reader.close()
})

/** A new link, in the place of an open one. */
async function openSlot() {
  const links: { id: string; state: string }[] = (await server.send('GET', linksUrl)).json()
  const one = links.find(({ state }) => state === 'open')
  await server.send('DELETE', `${linksUrl}/${one?.id}`)
  return createLink(server)
}
